"""Screens over a log: episodes, prompts, lessons, knowledge. All is read from the record."""
