"""The contract that a policy keeps, tried on it: ours, or a user's own."""
