"""Where vectors of texts come from."""
