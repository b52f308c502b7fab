"""Episodes as rows that people read: the command line and the dashboard show the same ones."""

# `sheet` reads an episode, `rows` makes lines of it, `facts` says each fact
# in words, and `words` makes text safe and short. Nothing here decides or
# counts: what a screen shows of a figure was reckoned elsewhere.
