"""The demo: 100 problems of Game of 24 from produce to answers, learning on the way."""

# `run` does by functions what a person would do by commands: produce, work, consume. Whatever it
# shows is read from the log afterwards (`screen`, `tree`), so that a demo which was killed and
# started again ends with the same screen. `views` draws while it runs. `file` says whether a log is
# gone on with; `local` is the demo on a real model.
