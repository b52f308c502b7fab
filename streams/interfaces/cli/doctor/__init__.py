"""`metalogue doctor`: the machine, the configuration and the log."""
