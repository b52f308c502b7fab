"""Model roles: one role = prompt, parser and question side by side."""
