"""Pure folds over the log: everything that is remembered follows from them."""

# Theory of operation.
#
# ``state.folds.state.State`` takes every accepted record and hands it on: what is said while
# learning to the ``memory.MemoryFold`` of its scope, endings and grades to ``windows``, ``lives``,
# ``outcomes`` and ``costs``. A memory version is not stored on the log; its record holds a digest,
# and ``memory`` puts it together from what the learning episode said (``learned``), from the
# version before (``succession``) and from measures (``measuring``, ``labelling``). Where the
# digest is not met, the fold raises: a memory that differs from the one that episodes read must
# never be used in silence.
#
# ``forgetting`` and ``remeasuring`` close versions again, as revisions of their number. Folds keep
# little of the past; for a revision they read old records through ``Records``.
#
# A fold takes no clock, no chance and no policy, and its result may depend on the order of records
# only where the log orders them: within a partition. Lanes of one episode end in any order, and
# therefore count by their addresses.
