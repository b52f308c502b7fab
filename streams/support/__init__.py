"""What anything here may use: child processes, YAML files, data sets, and the guards of HTTP servers."""
