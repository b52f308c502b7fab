"""Measurements: every figure is read off the event log or off recorded texts."""

# A recipe goes through these modules in one direction: `recipe` is read, `plan`
# makes cells of it, the command line produces and works on them as on any problems,
# `asides` makes side runs, `results` reads all of it off the log, `metrics` and
# `cells` measure, `compare` holds runs against each other, `report` puts it together
# as plain values, and `tables`, `pages` and `exports` print it. Its state is the log
# alone, so that a bench that was killed goes on and prints the same report.
#
# The modules named after a command (`speed`, `rebuild`, `recall`, `million`,
# `kafka`, `pace` and others) measure the product itself on the machine at
# hand. Their figures are ratios to a floor that is measured in the same run
# wherever one exists, because seconds alone say more of the machine.
