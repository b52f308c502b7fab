"""Tables of what was learned, for queries: rows made from the state, written by one projector."""

# One process writes the tables of a log (``lock``), and any number may read them. Each commit of a
# table carries its watermark, and each row its hash. Whatever is found unsound on opening is
# dropped and written anew from the log, which is cheaper than to reason about a broken table and
# cannot be wrong.
