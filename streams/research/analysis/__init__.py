"""Diagnostics of runs, read off the log alone."""

# `cases` reads a log into closed episodes. `measures`, `mechanisms`, `control` and `trees` make
# figures of them; `found` says of how many things a figure is, and `intervals`, `calibrated` and
# `statistics` how sure it is. `report`, `plots`, `layout` and the pages show what came of it, and
# compute nothing. The intervals are in closed form: a bootstrap would need a seed, and would say of
# five problems that all came out alike that there is no doubt. `effect` alone asks models: it runs
# episodes again without an item, and `effects` reads what came of that.
