"""The commands and their options, a module for those that belong together."""
