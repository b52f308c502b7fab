"""Traces of other tools, taken in as cases to learn from.

Theory of operation. ``reading`` takes a file line by line: a line of chat messages is a case by itself (``chat``),
a line of OTLP holds spans (``spans``), which are put together by trace once all are read (``assembling``). Both say
what was said in one form (``messages``). ``taking`` makes records of the cases: for each a ``trace.taken`` with all
that is known of it, the ``reflected`` that its policy makes of that (``reflecting``, which ``verify`` runs again), and
its verdict, if it has one, as feedback. A series for each scope announces them, so that they are learned from in
their order, and before any problem that is produced after them.

What is never done: a verdict is not guessed, and no record of a case stands on ``events``, where work of ours is
counted.
"""
