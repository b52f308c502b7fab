"""Row mappings: what each table says of one key. Adding a table is adding one."""

# A table is data: which touched keys it cares for, all keys that it has, and the rows of some keys
# as they are now. Rows are absolute and made from the state alone, never from the row before, so
# that a row can be written twice, late, or anew with its whole table. What was forgotten keeps its
# key and says no more than that.
