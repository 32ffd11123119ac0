"""A folder that becomes a machine's root: files, links and what is taken away again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


class Tree:
    """Paths have no leading slash; links of the machine that lead to folders are followed on the way."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """A file; one that is there is replaced."""
        target = self._made(path)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def write_all(self, folder: str, lines: Mapping[str, object]) -> None:
        """Files of one line each, as sysfs has them."""
        for name, value in lines.items():
            self.write(f"{folder}/{name}", f"{value}\n")

    def folder(self, path: str, mode: int = 0o755) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)
        (self.root / path).chmod(mode)

    def link(self, path: str, target: str) -> None:
        """A symbolic link with exactly this target."""
        self._made(path).symlink_to(target)

    def join(self, path: str, target: str) -> None:
        """A symbolic link to another path of the tree, relative as sysfs writes them."""
        self.link(path, os.path.relpath(target, Path(path).parent))

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def _made(self, path: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.is_file():
            target.unlink()
        return target
