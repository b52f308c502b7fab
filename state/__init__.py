"""State: everything that is remembered, as journals, folds and tables."""

# Theory of operation.
#
# The log is the truth, and everything here can be thrown away and made again from it. ``folds``
# add the log up: pure, in log order, with no policy code, so that a log of an older build folds
# for ever. ``snapshot`` keeps what they came to beside the log, so that a restart need not read
# all of it; ``mirror`` holds the vectors of a memory for recalls; ``projections`` say what each
# table says of one key, and ``tables`` write these rows for people who query.
#
# A worker feeds accepted records to ``state.folds.state.State`` (or to the folds that it needs) and
# watches which keys change; whoever writes, a snapshot or a table, takes what was touched since it
# last looked. Nothing flows the other way: no fold reads a table, and no policy imports this
# package; it asks a question, and the answer is recorded.
#
# What must never happen: that two machines, or two orders of records that are not ordered among
# each other, come to another state. The hash of the state is compared over crashes, workers and
# versions of the product, and golden logs are rebuilt by each build.
