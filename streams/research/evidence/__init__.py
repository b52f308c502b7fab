"""Evidence: logs of real runs as segments that never change, and the figures that are derived from them anew."""
