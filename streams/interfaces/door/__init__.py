"""The door for programs: solve, submit and await, read and verify; what `import metalogue` gives, and the HTTP server.

``Client`` puts problems on a log and waits for their answers; it works on nothing itself, so any number of them
may stand before any number of workers. ``Engine`` is a client with a worker of its own, in the same loop, on a
SQLite log. ``solving`` is for one problem without either. All of them speak to the log in one thread each, so
that no loop of a caller ever waits for a disk or a broker.

Theory of operation. A ``Way`` says how problems are worked on, an ``Asked`` what one of them says (``asking``). The
client hands both to its ``Mailbox``, which lives in the client's thread: it produces the problem by the very code of
``metalogue produce``, so that both name it alike and refuse the same. What comes back is a ``Handle`` with a future.
One task of the client looks for news of all futures together, in one query for each sort of message, since a
thousand waiting callers must not mean a thousand queries. A future ends in an answer, or in an ``Error`` that says
why there will be none: refused, parked, cancelled, or the worker's set-up is broken.

For strangers stands ``service`` before the client. ``http`` and ``mcp`` are two spellings of it, and neither has a
rule of its own. What must never happen: that a request names a file, a path, a URL or a policy that the operator did
not offer; that a holder sees another's episode, or learns that there is one; and that an error here differs from the
command line's for the same cause.
"""
