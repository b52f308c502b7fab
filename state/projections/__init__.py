"""Row mappings: what each table says of one key. Adding a table is adding one."""
