"""An OTLP collector in this process: takes spans over HTTP and keeps them."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector(ThreadingHTTPServer):
    """Listens on loopback; ``spans`` are those that were sent, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.paths: set[str] = set()
        self.elsewhere = ""
        """Where it sends whoever comes."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if collector.elsewhere:
            self.send_response(308)
            self.send_header("Location", collector.elsewhere)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        said: Any = ExportTraceServiceRequest.FromString(body)
        collector.paths.add(self.path)
        for each in said.resource_spans:
            collector.resources.append(each.resource)
            collector.spans += [span for scope in each.scope_spans for span in scope.spans]
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector that listens."""
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def attributes(said: Any) -> dict[str, Any]:
    """A span's or event's attributes as plain values."""
    found: dict[str, Any] = {}
    for each in said.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found
