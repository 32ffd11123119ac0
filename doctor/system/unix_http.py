"""One question to a service that listens on a unix socket of this machine, without an SDK: a check asks no more."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any

from doctor.errors import ParserError

_MOST = 4 << 20


def get(path: str, question: str, timeout_s: float) -> Mapping[str, Any]:
    """The JSON object that it answers. Raises OSError where it can't be asked, ParserError on any other answer."""
    connection = HTTPConnection("localhost", timeout=timeout_s)
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout_s)
        connection.sock.connect(path)
        connection.request("GET", question)
        answer = connection.getresponse()
        text = answer.read(_MOST)
        table = json.loads(text) if answer.status == 200 else None
    except (HTTPException, ValueError, RecursionError) as error:
        raise ParserError(f"no answer in JSON: {str(error)[:100]}") from error
    finally:
        connection.close()
    if not isinstance(table, dict):
        raise ParserError(f"status {answer.status}, and not an object in JSON")
    return table
