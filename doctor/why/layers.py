"""Images between two others: BAD's layers with some of GOOD's in their place.

Layers that both have, in the same order, stay. Between them GOOD's first one is tried in the place of BAD's first one,
and so on; with all of them it is the image of GOOD. Such images are loaded from an archive, and removed afterwards.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

from doctor.errors import DoctorError, InputError
from doctor.system.engine_api import Api

_SHOWN = 120
Slot = tuple[int | None, int | None]
"""Which of GOOD's layers and which of BAD's; None: that image has none there."""


@dataclass(frozen=True)
class _Saved:
    """An image in an archive: its configuration, and the names of its layers there."""

    path: Path
    config: dict[str, Any]
    layers: tuple[str, ...]

    def made_by(self, number: int) -> str:
        rows = [row for row in self.config.get("history") or () if not row.get("empty_layer")]
        step = str(rows[number].get("created_by") or "") if number < len(rows) else ""
        words = step.partition("/bin/sh -c ")[2].removeprefix("#(nop) ") or step
        return words.strip()[:_SHOWN] or str(self.config["rootfs"]["diff_ids"][number])[:19]


def slots(good: Sequence[str], bad: Sequence[str]) -> tuple[Slot, ...]:
    """Every place in the order of the layers. In those that both share, both have the same one.

    >>> slots("abx", "ay")
    ((0, 0), (1, 1), (2, None))
    """
    made: list[Slot] = []
    for _, a, b, c, d in SequenceMatcher(None, good, bad, autojunk=False).get_opcodes():
        made += zip_longest(range(a, b), range(c, d))
    return tuple(made)


class Layers:
    """Of two images of one engine. What is made under `folder` and in the engine goes with `close`."""

    def __init__(self, api: Api, good: str, bad: str, folder: Path, tell: Callable[[str], None]) -> None:
        self.api, self.good, self.bad, self.folder, self.tell = api, good, bad, folder, tell
        tables = [api.image(one) or {} for one in (good, bad)]
        ids = [tuple((table.get("RootFS") or {}).get("Layers") or ()) for table in tables]
        self.bytes = sum(int(table.get("Size") or 0) for table in tables)
        self._variables = [row.partition("=")[0] for t in tables for row in (t.get("Config") or {}).get("Env") or ()]
        self._slots = slots(*ids)
        self._differing = [
            n for n, (a, b) in enumerate(self._slots) if a is None or b is None or ids[0][a] != ids[1][b]
        ]
        self._saved: tuple[_Saved, _Saved] | None = None
        self._made: dict[frozenset[int], str] = {}
        self._name = f"doctor-why-{uuid.uuid4().hex[:12]}"

    @property
    def number(self) -> int:
        return len(self._differing)

    def variables(self) -> list[str]:
        return list(dict.fromkeys(self._variables))

    def made_by(self, number: int) -> tuple[str | None, str | None]:
        """The steps that made GOOD's and BAD's layer; its digest where the images were not opened."""
        slot = self._slots[self._differing[number - 1]]
        if self._saved is None:
            return (None if slot[0] is None else "there", None if slot[1] is None else "there")
        good, bad = (None if n is None else saved.made_by(n) for saved, n in zip(self._saved, slot, strict=True))
        return good, bad

    def image(self, carried: set[int]) -> str:
        """The image with these of GOOD's layers, counted from 1."""
        if not carried:
            return self.bad
        if len(carried) == self.number:
            return self.good
        key = frozenset(carried)
        if key not in self._made:
            self._made[key] = self._loaded(carried)
        return self._made[key]

    def close(self) -> None:
        for name in self._made.values():
            with suppress(DoctorError):
                self.api.remove_image(name)

    def _loaded(self, carried: set[int]) -> str:
        good, bad = self._archives()
        mine = {self._differing[n - 1] for n in carried}
        chosen = []
        for place, (a, b) in enumerate(self._slots):
            saved, number = (good, a) if place in mine else (bad, b)
            if number is not None:
                chosen.append((saved, number))
        name, path = f"{self._name}:{len(self._made) + 1}", self.folder / "image.tar"
        try:
            _write(path, name, bad.config, chosen)
            self.api.load(path)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        finally:
            path.unlink(missing_ok=True)
        return name

    def _archives(self) -> tuple[_Saved, _Saved]:
        if self._saved is None:
            self.tell("saving both images, to exchange their layers\n")
            self._saved = self._saved_as(self.good, "good.tar"), self._saved_as(self.bad, "bad.tar")
        return self._saved

    def _saved_as(self, image: str, name: str) -> _Saved:
        path = self.folder / name
        try:
            self.api.save(image, path)
            with tarfile.open(path) as archive:
                [listed] = json.loads(_bytes(archive, "manifest.json"))
                config = json.loads(_bytes(archive, listed["Config"]))
                return _Saved(path, config, tuple(map(str, listed["Layers"])))
        except (OSError, ValueError, KeyError, tarfile.TarError) as error:
            raise InputError(f"{image[:80]}: can't be saved as an archive: {str(error)[:120]}") from error


def _bytes(archive: tarfile.TarFile, name: str) -> bytes:
    held = archive.extractfile(name)
    if held is None:
        raise KeyError(name)
    return held.read()


def _write(path: Path, name: str, config: dict[str, Any], chosen: Sequence[tuple[_Saved, int]]) -> None:
    """An archive in the form that `docker save` has had from the start, which every engine loads."""
    ids = [saved.config["rootfs"]["diff_ids"][number] for saved, number in chosen]
    settings = {key: value for key, value in config.items() if key != "history"}
    text = json.dumps({**settings, "rootfs": {"type": "layers", "diff_ids": ids}}).encode()
    own = f"{hashlib.sha256(text).hexdigest()}.json"
    names = [f"{place}/layer.tar" for place in range(len(chosen))]
    with tarfile.open(path, "w") as out:
        for (saved, number), layer in zip(chosen, names, strict=True):
            for row, held in _member(saved, number):
                row.name = layer
                out.addfile(row, held)
        manifest = json.dumps([{"Config": own, "RepoTags": [name], "Layers": names}]).encode()
        for file, content in ((own, text), ("manifest.json", manifest)):
            row = tarfile.TarInfo(file)
            row.size = len(content)
            out.addfile(row, io.BytesIO(content))


def _member(saved: _Saved, number: int) -> Iterator[tuple[tarfile.TarInfo, Any]]:
    with tarfile.open(saved.path) as archive:
        row = archive.getmember(saved.layers[number])
        yield row, archive.extractfile(row)
