"""Grades that take more than a string: formulas, in a process that can be killed."""

# Exact rules come first, here in the process (handlers.answers). What follows may compute for ever,
# take all memory or be somebody's own code, so that each of it runs in a process that can be
# killed: opinions for sympy and math-verify, plugged for a grader of the operator's own, cell for
# code that a model wrote. What was not decided is unknown, never wrong.
