"""The dashboard: pages over a log, read through connections that cannot write."""

# One thread (`live_log`) follows the log and keeps folds, figures and open episodes in memory. A
# request comes through `guard` to `app`, which calls a view of `views` for the values of its
# template; most views look through the live log under its lock, and read rows of their own page
# alone, so that a log of millions stays quick. `live` tells browsers that something changed; they
# fetch the same page again, so there is one way to make a page and not two.
#
# What must never happen: a page writes. Connections are read-only, and the two forms
# that change something (`letters`, `reviewing`) open the log anew, for whoever gave the
# token. Nothing that a model or a client wrote may become markup: templates escape
# everything, and browsers may run one script of ours. It is a process of its own
# (deploy/decisions/0013), as pages must not take the time of a worker's loop.
