"""Replay: work with a record and no model, namely verify, fork and diff."""

# Theory of operation. A record holds every answer that a policy ever saw, so that running the
# policy over its record does again what it did, at no cost. verify runs it with no world at all:
# whatever comes out otherwise was changed, in the log or in the policy. fork runs it over a prefix,
# and behind that asks a world which gives the parent's answers as long as they hold. diff, effect
# and lineage only read.
#
# Nothing here falls through to a live call: a closed world that is asked raises, or a verification
# could make up what it is to find. Nothing here writes into an episode that exists: a fork is an
# episode of its own, under a claim of its own, and no relay takes it for an answer.
#
# What a log says once cannot be compared with anything. It is left out and told, with a count, for
# silence would be taken for a proof; heads that were published (heads, chain, held) decide some of
# it.
