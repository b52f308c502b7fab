"""Telemetry as projections of the log: what was recorded is counted once, however often it is replayed.

Theory of operation. ``figures`` follows a log through SQL, a span of records at a time, and keeps sums; ``counts`` adds
what only metrics show, and ``metrics`` defines each of them and writes them down for Prometheus. ``worker`` puts both
behind the endpoints that ``pages`` serves, beside what its worker does just now. ``otlp`` follows the log by a position
of its own and sends ``spans`` of what was closed, with ``texts`` where an operator asked for those.

So a figure can be counted again from the log at any time, on any machine, and comes to the same. What must never
happen: that watching holds up the work (readers have connections and threads of their own, and take small bites),
that a replay or a rebuild counts once more, and that a text leaves this machine without somebody having asked for it.
"""
