"""Export: everything that leaves the log as files, that is Parquet tables, JSON Schemas and the AsyncAPI document."""

# What is exported is derived, and may be thrown away: the log alone
# is kept. Schemas and the AsyncAPI document are generated from the
# code that reads and writes, and a test compares their files with it.
