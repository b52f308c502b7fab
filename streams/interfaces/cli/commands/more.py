"""Commands around the flow: consume, feedback, config, doctor, policies, topics, dlq, schema."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from streams.interfaces.cli.app import Json, Log, NewLog, app, group
from streams.interfaces.cli.options import ModelOptions, Own, grouped

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# Commands around the flow: what hands problems' answers and labels on, and what
# looks after a log. They are in one module, since each is one or two declarations
# and none has options of its own kind.
config_group = group("config", "What is configured, and where.")
policies_group = group("policies", "Ways to work on a problem.")
topics_group = group("topics", "The topics of a log.")
dlq_group = group("dlq", "Dead letters: what was refused.")
schema_group = group("schema", "JSON Schemas of what is said.")
Folder = Annotated[Optional[str], typer.Argument(metavar="DIR", help="Where the schemas lie.")]
Number = Annotated[int, typer.Argument(metavar="N", help="The dead letter's number.")]


@app.command()
def consume(
    log: Log = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more.")] = False,
    start: Annotated[
        Optional[str],
        typer.Option(
            "--from", metavar="PLACE", help="beginning, end, -N, PARTITION:OFFSET, a time."
        ),
    ] = None,
    consumer_group: Annotated[
        Optional[str], typer.Option("--group", metavar="G", help="Remember how far it came.")
    ] = None,
    json: Json = False,
) -> int:
    """Hand the answers on, each once, to the present end."""
    # Without a group nothing is remembered, so that a look at the answers takes none from anybody.
    from streams.interfaces.cli.consume import consume as run

    return run(log, start=start, group=consumer_group, follow=follow, json=json)


@app.command()
def feedback(
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON Lines.")] = "-",
    log: Log = None,
    json: Json = False,
) -> int:
    """Publish labels, verdicts and scores.

    A line: {domain, problem_id | episode, reference | verdict | score | passed, by}.
    """
    # Labels come through a topic of their own, and may come late: an answer that is out is never
    # changed by one, only what is learned from it.
    from streams.interfaces.cli.feedback import feedback as run

    return run(source, log=log, json=json)


@app.command()
def corpus(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON Lines of title and text, or HotpotQA's.")
    ],
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where the index goes.")],
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="E", help="hashed, minilm or openai:MODEL.")
    ] = "hashed",
    query: Annotated[
        str, typer.Option("--query-prefix", metavar="TEXT", help="Before each query, as 'query: '.")
    ] = "",
    passage: Annotated[
        str,
        typer.Option("--passage-prefix", metavar="TEXT", help="Before each, as 'passage: '."),
    ] = "",
    json: Json = False,
) -> int:
    """Index passages for the search tool: --tools corpus:FOLDER."""
    from streams.interfaces.cli.indexing import corpus as run

    return run(source, folder, embedder=embedder, query=query, passage=passage, json=json)


@app.command()
@grouped
def doctor(
    *,
    log: NewLog = None,
    adopt: Annotated[
        Optional[str], typer.Option("--adopt", metavar="EPISODE", help="Go on with a parked one.")
    ] = None,
    void: Annotated[
        Optional[str],
        typer.Option(
            "--void",
            metavar="EPISODE",
            help="Take out a parked one, or one (or a SCOPE's all) whose policy is not here.",
        ),
    ] = None,
    answering: ModelOptions,
    attempt: Annotated[
        bool, typer.Option("--try", help="Ask the backbone: each role once, twice if it must be.")
    ] = False,
    roles_of: Annotated[
        list[str],
        typer.Option("--for", metavar="POLICY", help="Only the roles that this policy asks."),
    ] = [],  # noqa: B006 - typer copies it
    own: Own = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Look at machine, configuration and log; say what to do.

    With a backbone: say what a try of it would take, and with --try ask it.
    """
    # Whoever names a model asks about that model: without --try it costs
    # nothing, and says what it would.
    if attempt or answering.names_any:
        from streams.interfaces.cli.doctor.endpoint import attempt as run_it
        from streams.interfaces.cli.errors import usage

        if adopt is not None or void is not None:
            # A try is recorded nowhere: it may be made on a machine that has no log at all.
            raise usage("a backbone is tried without a log", field="--backbone")
        return run_it(answering.models(), roles_of, ask=attempt, json=json)
    from streams.interfaces.cli.doctor.command import doctor as run

    return run(log, adopt=adopt, void=void, json=json)


@config_group.command("show")
def config_show(log: NewLog = None, json: Json = False) -> None:
    """Every setting with its value and where it was said.

    Secrets are only said to be set.
    """
    from streams.interfaces.cli.config import show

    show(log, as_json=json)


@policies_group.command("list")
def policies_list(json: Json = False) -> None:
    """Every policy: version, settings, what it learns from."""
    from streams.interfaces.cli.policies_shown import show_all

    show_all(json=json)


@policies_group.command("check")
def policies_check(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="FILE.py:NAME, or a name.")],
    json: Json = False,
) -> int:
    """Run the contract suite on a policy.

    It must be deterministic, resume at every record, keep limits and verify.
    """
    from streams.interfaces.cli.policies_shown import check

    return check(policy, json=json)


@topics_group.command("list")
def topics_list(log: Log = None, json: Json = False) -> None:
    """Every topic with what it holds and how many records."""
    from streams.interfaces.cli.topics import show_all

    show_all(log, json=json)


@topics_group.command("create")
def topics_create(
    log: NewLog = None,
    # It cannot be changed later: where a record goes follows from its key and from their number.
    partitions: Annotated[
        int,
        typer.Option("--partitions", metavar="N", min=1, max=1000, help="Of each topic, on Kafka."),
    ] = 8,
    replicas: Annotated[
        Optional[int],
        typer.Option(
            "--replicas", metavar="N", min=1, max=9, help="Copies of each; 3, or one a broker."
        ),
    ] = None,
    min_isr: Annotated[
        Optional[int],
        typer.Option(
            "--min-isr", metavar="N", min=1, max=9, help="Copies that must be there to append."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make the log with all its topics."""
    from streams.interfaces.cli.topics import create

    create(log, partitions=partitions, replicas=replicas, min_isr=min_isr, json=json)


@topics_group.command("check")
def topics_check(log: Log = None, json: Json = False) -> int:
    """Whether the topics are sound."""
    from streams.interfaces.cli.topics import check

    return check(log, json=json)


@topics_group.command("acls")
def topics_acls(
    log: Log = None,
    who: Annotated[
        Optional[Literal["worker", "producer", "consumer", "reader", "admin"]],
        typer.Option("--for", help="What the program does."),
    ] = None,
    principal: Annotated[
        str, typer.Option("--principal", metavar="USER", help="Whom to allow it.")
    ] = "User:metalogue",
    json: Json = False,
) -> None:
    """What a broker must allow, as lines for kafka-acls.sh."""
    # They are printed and not set: who may give rights on a broker should read them first.
    from streams.interfaces.cli.topics import acls

    acls(log, who=who, principal=principal, json=json)


@dlq_group.command("list")
def dlq_list(log: Log = None, json: Json = False) -> None:
    """Every dead letter: its origin, and why it was refused."""
    from streams.interfaces.cli.dead_letters import show_all

    show_all(log, json=json)


@dlq_group.command("show")
def dlq_show(
    number: Number,
    log: Log = None,
    raw: Annotated[bool, typer.Option("--raw", help="Its bytes alone, unchanged.")] = False,
    json: Json = False,
) -> None:
    """One dead letter with its headers and bytes."""
    from streams.interfaces.cli.dead_letters import show_one

    show_one(log, number, raw=raw, json=json)


@dlq_group.command("replay")
def dlq_replay(
    number: Annotated[Optional[int], typer.Argument(metavar="N", help="Its number.")] = None,
    log: Log = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    file: Annotated[
        Optional[str], typer.Option("--file", metavar="MENDED", help="Mended bytes, or - to read.")
    ] = None,
    own: Own = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Send a dead letter on again, mended or as it is."""
    # The letter stays where it is: the log only grows, and a list tells which were sent on since.
    from streams.interfaces.cli.dead_letters import replay

    return replay(log, number, everything=everything, file=file, json=json)


@schema_group.command("export")
def schema_export(folder: Folder = None, json: Json = False) -> None:
    """Write the JSON Schemas of all that is said."""
    from streams.interfaces.cli.schema_files import write

    write(folder, json=json)


@schema_group.command("check")
def schema_check(folder: Folder = None, json: Json = False) -> int:
    """Whether the files are what the models say."""
    # A test runs it: whoever changes an event sees the change in a file that others build upon.
    from streams.interfaces.cli.schema_files import check

    return check(folder, json=json)
