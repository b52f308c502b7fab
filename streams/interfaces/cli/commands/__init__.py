"""The commands and their options, a module for those that belong together."""

# A command here only declares: its name, its options with their help, and which function of the
# packages beside this one does the work. That function takes plain values, so that the package
# metalogue, tests and other commands call it as well.
#
# All of these modules are imported whenever anything is called, for typer builds its commands from
# what functions declare. So every body imports what it needs: a module-level import of pydantic,
# SQLite or a policy would be paid for by each `--help` (tests/streams/cli/test_start.py). Only what
# annotations name is imported above, since typer evaluates them, and for the same reason they are
# written for the oldest Python that is supported.
#
# `own` is a parameter that most bodies do not read: its callback has loaded the user's policies by
# the time that the command runs, and names in a log stand for them from then on.
