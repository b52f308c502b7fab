"""Evidence: logs of real runs as segments that never change, and the figures that are derived from them anew."""

# Two things bear this name. `segments`, `figures` and `page` keep the logs of
# real runs beside the documentation and derive its tables again. `pack`,
# `manifest`, `chains` and `signing` make one episode's record into a file that
# somebody can check who trusts neither its maker nor the log that it came from.
