"""Everything that is recorded, one immutable event each."""
