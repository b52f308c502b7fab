"""Screens over a log: episodes, prompts, lessons, knowledge. All is read from the record."""

# Commands are in `command`, `lessons`, `knowledge` and `graph`. They read a log into values that
# other parts share (an episode's view, `library` for what scopes learned, `moment` for one step),
# and lay them out on a `page`, or give them as JSON (`plain`). Nothing is asked of a model and
# nothing is written. Each screen ends with commands that can be pasted (`paste`), since a person
# who looks at one thing wants to see the next.
#
# Texts of models and clients may hold what steers a terminal. They pass `clean` or `one_line` on
# their way to a page; --json gives them as they were recorded, for programs that know what they do.
