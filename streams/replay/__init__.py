"""What can be done with a record and no model: verify, fork, diff."""
