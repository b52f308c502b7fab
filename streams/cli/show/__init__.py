"""Screens over a log: an episode, a prompt, lessons, knowledge. Everything shown is read from the record."""
