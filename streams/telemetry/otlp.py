"""Spans on their way: follows a log and sends what was closed since to an OTLP endpoint over HTTP.

At least once, in log order, from the position that was committed last; ids are those of the record, so a
span that is sent twice is one span. Needs the extra ``otel``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from schemas.events.codec import BadEvent
from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed
from schemas.identity import is_taken
from schemas.record import Record
from streams.runtime.embedded.files import SqliteError
from streams.telemetry import spans
from streams.telemetry.spans import Span

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog
    from streams.telemetry.texts import Texts

SENT: Final = ("episode.closed", "graded")
"""What ends an episode, and what may be said of it later."""
AT_ONCE: Final = 64
"""Records of these kinds that one request is made of."""
POLL_S: Final = 1.0
MOST_WAIT_S: Final = 30.0
TIMEOUT_S: Final = 10.0
_log = logging.getLogger(__name__)


def endpoint_of(url: str) -> str:
    """The full address of traces. Raises ``ValueError`` for what is no HTTP endpoint."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no OTLP endpoint: write http://HOST:4318")
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/v1/traces"


class Sender:
    """Hands spans to the official exporter."""

    def __init__(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        # Its own warnings tell of each attempt; ``follow`` says once what matters.
        logging.getLogger(OTLPSpanExporter.__module__).setLevel(logging.ERROR)
        self.url = endpoint_of(url)
        self.exporter = OTLPSpanExporter(endpoint=self.url, timeout=TIMEOUT_S, session=_straight())
        self.resource = Resource.create({"service.name": "metalogue"})
        self.scope = InstrumentationScope("metalogue")

    def send(self, found: Sequence[Span]) -> bool:
        """Whether the endpoint took them."""
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.trace import SpanKind, Status, StatusCode

        made = [
            ReadableSpan(
                name=span.name,
                context=_context(span.trace, span.id),
                parent=None if span.parent is None else _context(span.trace, span.parent),
                resource=self.resource,
                attributes=dict(span.attributes),
                events=[Event(n.name, dict(n.attributes), n.at_ms * 1_000_000) for n in span.noted],
                kind=SpanKind.CLIENT if span.remote else SpanKind.INTERNAL,
                status=Status(StatusCode.UNSET)
                if span.error is None
                else Status(StatusCode.ERROR, span.error),
                start_time=span.start_ms * 1_000_000,
                end_time=span.end_ms * 1_000_000,
                instrumentation_scope=self.scope,
            )
            for span in found
        ]
        return self.exporter.export(made) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Let go of the connection."""
        shutdown: Any = self.exporter.shutdown
        shutdown()


def _straight() -> Any:
    """A session for which a redirect is a refusal: elsewhere nobody asked for spans, nor for the headers' keys."""
    requests: Any = import_module("requests")

    def refuse(response: Any, **_: Any) -> None:
        if 300 <= response.status_code < 400:
            response.close()
            raise requests.TooManyRedirects(f"HTTP {response.status_code}, which is not followed")

    session = requests.Session()
    # A hook, since the exporter gives no way to say to ``requests`` that it should not follow.
    session.hooks["response"].append(refuse)
    return session


def _context(trace: int, span: int) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class Export:
    """The spans that one log still has to send to one endpoint."""

    def __init__(
        self,
        log: SqliteLog,
        send: Callable[[Sequence[Span]], bool],
        url: str,
        texts: Texts | None = None,
    ) -> None:
        from streams.runtime.embedded.snapshots import log_id

        self.log, self.send, self.url, self.texts = log, send, url, texts
        # Spans after a position that a crash takes are sent again, and are the same spans.
        self.log.sync_less()
        # By the host alone: what stands before an ``@`` is a password, and
        # positions lie in the log.
        self.consumer = f"otlp/{urlsplit(url).netloc.rpartition('@')[2]}"
        self.name = log_id(log) if log.end() else ""

    def step(self) -> bool | None:
        """Send the next records. True if more may follow, false if it was refused, none at the end."""
        from streams.runtime.embedded.snapshots import log_id

        # An empty log has no name yet: its first record makes it.
        self.name = self.name or (log_id(self.log) if self.log.end() else "")
        after = self.log.position(self.consumer, "events")
        found = list(islice(self.log.records(kinds=SENT, after=after), AT_ONCE))
        if not found:
            return None
        made = [span for record in found for span in self._spans(record)]
        if made and not self.send(made):
            return False
        # Behind the sending, never before: rather twice than not at all.
        self.log.commit_position(self.consumer, "events", found[-1].offset)
        return True

    def _spans(self, record: Record) -> Iterator[Span]:
        if is_taken(record.episode):
            # It is no work of ours, and its tool has sent its spans.
            return
        if record.event.kind == "graded":
            yield spans.graded(self.name, record)
            return
        # Only closed episodes are sent, each whole, since spans cannot be changed later.
        records = list(self.log.records(episode=record.episode))
        texts = spans.NO_TEXTS if self.texts is None else self.texts.of(records)
        # An opening says which model answers which role. A learning episode has none, but was run
        # by the worker that opened its members.
        backbones = ""
        for each in records:
            event = each.event
            if isinstance(event, BatchClosed) and event.members:
                event = self.log.find(event.members[0], "opened") or event
            if isinstance(event, EpisodeOpened):
                backbones = event.backbones
                break
        yield from spans.spans(self.name, records, backbones, texts)

    def follow(self, stopped: threading.Event) -> None:
        """Send whatever comes until told to stop; then what there is, if the endpoint takes it."""
        # Asked for before the step: after word to stop, one more look takes what was
        # closed until then.
        wait = POLL_S
        while True:
            last = stopped.is_set()
            try:
                went, why = self.step(), f"{self.url} took no spans"
            except (BadEvent, SqliteError) as error:
                # Another process may hold the log, or it is full for a while: a thread that ended over it
                # would send nothing for as long as its process lives, and nobody would see.
                went, why = False, f"no spans were sent to {self.url}: {error}"
            if went:
                wait = POLL_S
                continue
            if last:
                return
            if went is False:
                _log.warning("%s; sent again in %.0f s [otlp.refused]", why, wait)
            stopped.wait(wait)
            wait = min(wait * 2, MOST_WAIT_S) if went is False else POLL_S
