"""Merge one folder of packages for each Python into one: `merge.py python/ site/`, with python/3.10 and so on.

A package that is the same in all goes into site/, any other whole into site/for-python-3.N/.
"""

import filecmp
import shutil
import sys
from pathlib import Path


def files(folder: Path) -> set[Path]:
    """Their paths below the folder; `bin` and the installer's notes are not needed."""
    every = {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
    return {
        p
        for p in every
        if p.parts[0] != "bin" and p.name not in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
    }


def merge(versions: list[Path], site: Path) -> None:
    """Copy every package of the folders `versions` to its place below `site`."""
    held = {version: files(version) for version in versions}
    first = versions[0]

    def same(name: Path) -> bool:
        return all(name in held[v] and filecmp.cmp(first / name, v / name, shallow=False) for v in versions)

    own = {name.parts[0] for name in set().union(*held.values()) if not same(name)}
    for version in versions:
        for name in held[version]:
            target = (site / f"for-python-{version.name}" if name.parts[0] in own else site) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(version / name, target)


if __name__ == "__main__":
    merge(sorted(Path(sys.argv[1]).iterdir()), Path(sys.argv[2]))
