"""`metalogue doctor`: the machine, the configuration and the log."""

# `command` runs the checks of `setup` (the machine) and `log` (an open log; `policies` of its
# scopes), and prints what they found. A check never raises for what it looks at: it is asked where
# something is wrong, and a fault in one place must not hide the others. The doctor changes nothing,
# with one exception: `adopting` records a person's decision, since whoever reads what is parked is
# about to decide. `endpoint` is a doctor of its own: it asks a model one question for each role
# (`specimens`), and touches no log.
