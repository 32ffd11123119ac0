"""`doctor image lint` on files of public repositories: which errors and warnings are true and useful.

    python -m benchmarks.lint_corpus FOLDER [read|kept|fresh]

FOLDER holds a git directory of each repository, as OWNER+NAME or OWNER+NAME/repo. The commits and the verdict on each
error and warning, made by reading the file, stand in lint_corpus.json; the files themselves are not kept. Of a
repository the Dockerfiles, compose files and manifests count that name GPU software, at most eight by the SHA-256 of
their paths. Parts: `read`, in which causes were looked for; `kept`, read once, whose causes were fixed too; `fresh`,
read once after that. A finding without a verdict is printed.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from doctor.errors import InputError
from doctor.images.lint import lint

CORPUS = Path(__file__).with_name("lint_corpus.json")
MOST = 8
_CONTAINER = re.compile(
    r"(?:^|/)(?:[\w.-]*(?:dockerfile|containerfile)[\w.-]*|[\w.-]*compose[\w.-]*\.ya?ml)$", re.IGNORECASE
)
_GPU = re.compile(r"(?i)cuda|rocm|nvidia|amdgpu|torch|tensorflow|\bjax\b|/dev/kfd|/dev/dri|onnxruntime-gpu")
_REQUEST = re.compile(r"(?:amd|nvidia)\.com/(?:gpu|mig-)")


class Held:
    """A repository at a commit."""

    def __init__(self, folder: Path, repository: str, commit: str) -> None:
        place = folder / repository
        self.place = place / "repo" if (place / "repo").is_dir() else place
        self.commit = commit
        listed = self._git("ls-tree", "-r", commit).decode("utf-8", "replace")
        rows = (row.split("\t", 1) for row in listed.splitlines() if row.startswith(("100644", "100755")))
        self.paths = {path for _, path in rows}

    def _git(self, *words: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.place), *words], capture_output=True, check=False).stdout

    def text(self, path: str) -> str:
        return self._git("show", f"{self.commit}:{path}").decode("utf-8", "replace")

    def files(self) -> Iterator[tuple[str, str]]:
        """(path, text) of those that count; a snapshot may lack large ones."""
        count = 0
        for path in sorted(self.paths, key=lambda p: hashlib.sha256(p.encode()).hexdigest()):
            named = _CONTAINER.search(path)
            if count >= MOST or not (named or path.endswith((".yaml", ".yml"))) or path.endswith((".md", ".sh", ".py")):
                continue
            text = self.text(path)
            if len(text) <= 1 << 20 and (_GPU if named else _REQUEST).search(text):
                count += 1
                yield path, text

    def beside(self, path: str, name: str) -> str | None:
        """A file of the build context, as the command line looks for it."""
        folder = Path(path).parent
        for context in (folder, folder.parent):
            if (found := str(context / name)) in self.paths:
                return self.text(found)
        return None


def main(arguments: list[str]) -> int:
    folder, wanted = Path(arguments[0]), arguments[1:] or ["read", "kept", "fresh"]
    corpus = json.loads(CORPUS.read_text("utf-8"))
    verdicts = {(f["repository"], f["path"], f["line"], f["rule"]): f["verdict"] for f in corpus["findings"]}
    for part in wanted:
        seen: Counter[str] = Counter()
        classes: Counter[tuple[str, str]] = Counter()
        for row in corpus["repositories"]:
            if row["part"] != part:
                continue
            held = Held(folder, row["repository"], row["commit"])
            for path, text in held.files():
                seen["files"] += 1
                try:
                    faults = lint(text, path, lambda name, held=held, path=path: held.beside(path, name))  # type: ignore[misc]
                except InputError as error:
                    seen["refused"] += 1
                    sys.stdout.write(f"refused: {row['repository']} {path}: {error}\n")
                    continue
                for fault in (f for f in faults if f.level != "info" and not f.ignored):
                    verdict = verdicts.get((row["repository"], path, fault.line, fault.rule), "no verdict")
                    classes[fault.rule, verdict] += 1
                    if verdict == "no verdict":
                        sys.stdout.write(
                            f"{row['repository']} {path}:{fault.line} {fault.level} {fault.rule}: {fault.text}\n"
                        )
        told = Counter[str]()
        for (_, verdict), count in classes.items():
            told[verdict] += count
        sys.stdout.write(f"{part}: {seen['files']} files, {seen['refused']} refused; {dict(told)}\n")
        for (kind, verdict), count in sorted(classes.items()):
            sys.stdout.write(f"  {kind}: {verdict} {count}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
