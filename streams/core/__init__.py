"""The kernel: how a policy runs over its record and the world, and what its episode leaves when it ends.

Theory of operation. A policy is a generator. It asks questions, states facts and forks into lanes, and it never
sees a clock, a random source or a client. ``drive`` runs it, first over what is recorded and then over the world,
and records each answer before the policy acts on it (its own docstring tells the rules). ``replies`` turns a
recorded answer back into the value that the policy asked for, so that a live run and a replay take the same path.
``totals`` sums the record as it grows. ``closing`` derives from record and conclusion everything that an episode
leaves: its closing, its answer, and what is learned from it. ``compare`` says when a restated fact equals the
recorded one, ``unkept`` what becomes of records that are too large for their log, and ``defects`` gives the same
error of a policy the same words each time.

Two ports lead out: ``backbone`` says what a source of model replies must offer, and ``drive.World`` what whoever
answers questions must. ``normalise`` makes anything that comes back recordable. Nothing here imports another
package of ``streams``, and an import contract keeps it so: workers, ``verify``, ``fork`` and tests run this code.
"""
