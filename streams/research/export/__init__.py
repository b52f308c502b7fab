"""Export: everything that leaves the log as files, that is Parquet tables, JSON Schemas and the AsyncAPI document."""
