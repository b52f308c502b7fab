"""From a source's lines to problems on their topic.

``sources`` reads lines strictly and says what is wrong with one; ``produce`` turns them into problems, series and dead
letters. ``subjects`` keeps names of people out of what cannot be erased, ``typed`` holds a problem to the type of
answer that it says, ``perturbing`` puts it another way. ``traces`` takes in what other tools recorded. The door uses
the same code for a single problem, so that a line and a call that say the same are the same problem.
"""
