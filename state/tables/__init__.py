"""Tables of what was learned, for queries: rows made from the state, written by one projector."""
