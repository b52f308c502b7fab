"""Ways to work on a problem, one paper a file or folder."""
