"""Mutation testing: are small wrong changes of the code noticed by the tests that touch their lines?

``changes`` makes and draws them, by the operators of mutmut. ``touching`` knows which tests run which line: from a map
that coverage makes once, or by imports where there is no time for one. ``trying`` runs them on a change in a copy of
the tree, so that the tree itself is never changed. ``known`` lists wrong changes that people made and no test saw.
``python -m tests.mutation`` (`make mutants`) puts them together and goes on where it was broken off
(deploy/decisions/0019).
"""
