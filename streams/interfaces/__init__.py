"""The ways in for people and programs: command line, dashboard, HTTP and MCP door."""
