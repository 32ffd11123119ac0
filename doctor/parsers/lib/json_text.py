"""JSON in a pasted text -> its value, and the line on which a word of it first stands: JSON keeps no lines by itself.

>>> found = JsonText('noise\\n{"a":\\n "b"}')
>>> found.value, found.line_of('"b"')
({'a': 'b'}, 3)
"""

from __future__ import annotations

import json
import re
from typing import Any

from doctor.errors import ParserError

MAX_CHARS = 8 << 20
_START = re.compile(r"^\s{0,40}[\[{]", re.MULTILINE)


class JsonText:
    """Raises ParserError where the text holds no whole JSON object or list."""

    def __init__(self, text: str) -> None:
        found = _START.search(text)
        if not found or len(text) > MAX_CHARS:
            raise ParserError("no JSON object or list")
        try:
            self.value: Any = json.JSONDecoder().raw_decode(text, found.end() - 1)[0]
        except (ValueError, RecursionError) as error:
            raise ParserError(f"broken JSON: {str(error)[:100]}") from None
        self._text = text
        self._from = found.end() - 1
        self._first = text.count("\n", 0, self._from) + 1

    def line_of(self, word: str) -> int:
        """The first line with that word; that of the JSON's begin where it is spelt otherwise (escapes)."""
        place = self._text.find(word, self._from) if word else -1
        return self._text.count("\n", 0, place) + 1 if place >= 0 else self._first


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: Any, most: int = 1024) -> list[dict[str, Any]]:
    return [row for row in value[:most] if isinstance(row, dict)] if isinstance(value, list) else []
