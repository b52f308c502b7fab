"""What is said: problems, answers, questions, events and their wire form. Pure; imports no other folder."""

# Theory of operation.
#
# Three languages meet here. People write problems, feedback and settings: pydantic models, which
# name every fault at once. Policies speak in questions, facts and branches (``asking``,
# ``questions``, ``prompt``, ``reply``). The product writes events (``events``, ``struct``), and a
# log is nothing but these, each with its place (``record``, ``places``, ``identity``).
#
# Whatever is written is written for good: a log of an earlier build has to be read, folded and
# verified by each later one. So events only grow optional fields, names follow from content and
# place alone, absent means unknown and never zero, and a digest is taken over values as canonical
# JSON. A change of a field's order, of a default or of a separator here changes digests on logs
# that exist.
#
# Nothing here decides anything, touches the world, or imports another folder: what is said must
# not hang on who says it.
