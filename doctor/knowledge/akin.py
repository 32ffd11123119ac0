"""Causes that show the same signs: how often one was a fair answer where another was the cause, counted over texts
whose causes are known (data/akin.json).

>>> round(shared().fair("container-render-group-mismatch", "device-node-permission"), 1)
0.8
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data" / "akin.json"
_DOUBT = 2
"""Texts more that are counted against a pair: of a cause that three texts had, nothing is sure."""


class Akin:
    """The counts. `causes`: cause → `texts` that had it, and `fit`: how many of them each other cause fitted too."""

    def __init__(self, causes: Mapping[str, Mapping[str, object]]) -> None:
        self._texts: dict[str, int] = {cause: row["texts"] for cause, row in causes.items()}  # type: ignore[misc]
        self._fit: dict[str, dict[str, int]] = {cause: row["fit"] for cause, row in causes.items()}  # type: ignore[misc]
        self._fitted: Counter[str] = Counter(self._texts)
        for row in self._fit.values():
            self._fitted.update(row)

    def fair(self, cause: str, other: str) -> float:
        """The share of the texts with this cause in which the other was a fair answer too, 0 to 1."""
        return self._fit.get(cause, {}).get(other, 0) / (self._texts.get(cause, 0) + _DOUBT)

    def behind(self, told: str, other: str) -> float:
        """The share of the texts that `told` fitted in which the other was the cause, 0 to 1."""
        return self._fit.get(other, {}).get(told, 0) / (self._fitted[told] + _DOUBT)

    def around(self, told: str) -> Iterator[str]:
        """Causes of texts that `told` fitted, too."""
        return (cause for cause, row in self._fit.items() if told in row)


@cache
def shared() -> Akin:
    """The counts that the project ships."""
    return Akin(json.loads(DATA.read_text("utf-8"))["causes"])
