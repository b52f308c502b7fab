"""Runtimes: the same topology on one file and on a cluster.

Neither of them decides anything about an episode or a memory: that is the engine's, which sees a log through a
store and a recorder. A runtime says who may write, what is durable when, and what a kill leaves behind. The same
series of problems with the same replies has to leave the same memory on both, which contracts test.
"""
