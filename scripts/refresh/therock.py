"""TheRock's release page: the GPUs that AMD's own wheels of torch have an extra for, and the torch releases there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from refresh.pypi import Fetch

TITLE = "TheRock's release page"
URL = "https://raw.githubusercontent.com/ROCm/TheRock/main/RELEASES.md"


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ device_wheels: gfx1250`. Raises ValueError for a page without the table."""
    text = get(URL, {}).decode("utf-8", "replace")
    gpus = set(re.findall(r"\| `device-(gfx[0-9a-f]+)`", text))
    if not gpus:
        raise ValueError(f"{URL}: no table of device extras")
    series = set(re.findall(r"^>?\s*\|\s*(\d+\.\d+)\s*\|", text, re.M))
    for held in (wheels for wheels in kb.device_wheels() if wheels.channel == "nightly"):
        yield from (f"+ device_wheels: {held.id}: {gfx}" for gfx in sorted(gpus - set(held.gpus)))
        yield from (f"- device_wheels: {held.id}: {gfx}" for gfx in sorted(set(held.gpus) - gpus))
        yield from (f"+ device_wheels: {held.id}: torch {one}" for one in sorted(series - set(held.torch)))
