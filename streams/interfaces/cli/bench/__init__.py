"""`metalogue bench`: what its commands print."""
