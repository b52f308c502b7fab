"""Prompts as settings: which there are, and files that say them in other words."""
