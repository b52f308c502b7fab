"""The command line. Importing it costs little: every command loads what it needs when it runs."""
