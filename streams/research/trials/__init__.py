"""The contract that a policy keeps, tried on it: ours, or a user's own."""

# `check` runs the suite, `trial` the policy in a world of its own, `contract` says
# what must hold of what came of it, `learning` tries the same of what is learned,
# and `elsewhere` is the other process that must agree. `play` stands beside them,
# for people who write a policy and want to see what it makes of replies.
