"""What leaves the log as files: Parquet tables, JSON Schemas, the AsyncAPI document."""
