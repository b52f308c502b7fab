"""Everything that is recorded, one immutable event each."""

# An event says what happened, and its record says where and when: events hold no time, no place
# and no offset, so that the same event at two addresses has one digest. Answers (``AnswerEvent``)
# are what the world said, and carry the fingerprint of their question; facts are what a policy
# decided; all others are the life of episodes and of memory.
#
# A field that is added is optional and named in ``latest`` or ``later`` of its class, for whoever
# reads records of earlier builds; anything else is a new version with a step in ``upcasts``. A
# fact holds the address of a text instead of the text, so that no log grows with the square of its
# steps.
