"""Episodes as rows that people read: the command line and the dashboard show the same ones."""
