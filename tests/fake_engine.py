"""A container engine that answers over a unix socket from a table, so that the real SDK is what is tested."""

from __future__ import annotations

import json
import os
import re
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

Answers = Mapping[str, Any]
"""`GET /containers/web/json` → JSON data, bytes, a status (int), or a pair of status and data. The first key that the
question starts with, the longest first; a question without an answer is 404."""
VERSION = {"Version": "26.1.5", "ApiVersion": "1.45", "MinAPIVersion": "1.24"}
INFO = {"ServerVersion": "26.1.5", "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]}
SLOW = object()
"""No answer for some seconds."""


class FakeEngine(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, answers: Answers) -> None:
        self.answers = {"GET /version": VERSION, "GET /info": INFO, **answers}
        self.asked: list[str] = []
        self.bodies: dict[str, Any] = {}
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket may have 108 characters
        try:
            super().__init__(path.name, _Handler)
        finally:
            os.chdir(here)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeEngine

    def _answer(self) -> None:
        question = f"{self.command} {re.sub(r'^/v[0-9.]+', '', self.path)}"
        self.server.asked.append(question)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if body:
            self.server.bodies[question] = body
        keys = sorted((k for k in self.server.answers if question.startswith(k)), key=len, reverse=True)
        answer = self.server.answers[keys[0]] if keys else (404, {"message": f"No such thing: {self.path}"})
        if answer is SLOW:
            time.sleep(1.5)
            return
        status, data = answer if isinstance(answer, tuple) else (200, answer)
        if isinstance(data, int):
            status, data = data, b""
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if content[:1] in b"[{" else "application/octet-stream")
        if content.endswith(b"\n"):  # rows of progress come one by one
            content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_HEAD = _answer

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def answering(path: Path, answers: Answers) -> Iterator[FakeEngine]:
    server = FakeEngine(path, answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def framed(stream: int, text: str) -> bytes:
    """A piece of a container's output as the API sends it: 1 is stdout, 2 stderr."""
    content = text.encode()
    return bytes((stream, 0, 0, 0)) + len(content).to_bytes(4, "big") + content
