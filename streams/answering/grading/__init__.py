"""Grades that take more than a string: formulas, in a process that can be killed."""
