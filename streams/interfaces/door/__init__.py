"""The door for programs: solve, submit and await, read and verify; what `import metalogue` gives, and the HTTP server.

``Client`` puts problems on a log and waits for their answers; it works on nothing itself, so any number of them
may stand before any number of workers. ``Engine`` is a client with a worker of its own, in the same loop, on a
SQLite log. ``solving`` is for one problem without either. All of them speak to the log in one thread each, so
that no loop of a caller ever waits for a disk or a broker.
"""
