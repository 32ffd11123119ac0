"""One question to a service on a unix socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.errors import ParserError
from doctor.system import unix_http
from tests.each import each
from tests.fake_engine import VERSION, answering


def test_the_object_that_it_answers(tmp_path: Path) -> None:
    with answering(tmp_path / "s", {}) as engine:
        assert unix_http.get(str(tmp_path / "s"), "/version", 5.0) == VERSION
        assert engine.asked == ["GET /version"]


@each("answer", [(500, {"message": "no"}), [1, 2], b"not JSON", b"{"])
def test_any_other_answer(tmp_path_factory: pytest.TempPathFactory, answer: Any) -> None:
    path = tmp_path_factory.mktemp("s") / "s"
    with answering(path, {"GET /info": answer}), pytest.raises(ParserError):
        unix_http.get(str(path), "/info", 5.0)


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        unix_http.get(str(tmp_path / "none"), "/info", 5.0)
