"""The captured trees of the field, laid out as the machine had them."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Any

from tests.paths import FIELDLAB, captured

CLASSES = (
    "kfd-topology",
    "drm-sysfs",
    "other-vendor-drm-sysfs",
    "sysfs-fsroot",
    "cpu-topology-fsroot",
    "infiniband-sysfs",
)
TOPOLOGY = "sys/class/kfd/kfd/topology"


def machines() -> dict[str, dict[str, Any]]:
    """INDEX.yaml's entries of captured trees, by machine; none where the captures are missing."""
    return {row["machine"]: row for row in captured() if row["class"] in CLASSES}


def lay_out(machine: str, folder: Path) -> Path:
    """The root of the machine's tree, under `folder`."""
    captured = FIELDLAB / machine
    archives = [*captured.glob("*.tar.gz"), *captured.glob("*.tar.bz2")]
    if (captured / "snapshot").is_dir():
        for card in captured.glob("snapshot/card*"):
            shutil.copytree(card, folder / "sys/class/drm" / card.name)
    elif (captured / "sys-class-infiniband").is_dir():
        shutil.copytree(captured / "sys-class-infiniband", folder / "sys/class/infiniband")
    elif (captured / "sys-class-kfd-topology").is_dir():
        shutil.copytree(captured / "sys-class-kfd-topology/topology", folder / TOPOLOGY)
    elif archives[0].name.startswith("sys-class-kfd"):
        _unpack(archives[0], (folder / TOPOLOGY).parent)
    else:
        _unpack(archives[0], folder)
        if not (folder / "sys").is_dir():
            return next(p.parent for p in folder.glob("*/sys"))
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    """Files, folders and links that stay inside; a link out of the tree is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            if (member.isfile() or member.isdir() or member.issym()) and not member.name.startswith("/"):
                try:
                    opened.extract(member, folder, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))  # type: ignore[arg-type]
                except (tarfile.TarError, OSError):  # a link that leaves the tree
                    continue
