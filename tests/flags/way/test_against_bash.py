"""Random scripts, each really run: no program has a value that the model rules out."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.flags.way.run import follow
from tests.flags.way.cases import UNKNOWN, given

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
NAMES = "ABC"
WORDS = ["1", "x", "foo.sh", '"a b"', "", "$A", '"$C"', "${A:-d}", "$((A+1))", "${A%.*}", "${#A}", "{p,q}", "${L[1]}",
         "$(printf '%s-%d' $A 3)", "$(cat)"]  # fmt: skip
TESTS = ['[ "$A" = "$B" ]', '[ -n "$C" ]', "[[ $B == a* ]]", "false", '! [ "$C" = x ]', "(( ${#A} > 1 ))"]
WHILE = "w@=0\nwhile [ $w@ -lt 3 ]; do\nw@=$((w@+1))\n{}\n{} && {}\n{}\ndone"


class Script:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.text = "\n".join(self.command(0) for _ in range(6)) + "\n" + self.see()

    def any(self, *texts: str) -> str:
        return self.random.choice(texts)

    def see(self) -> str:
        self.count += 1
        return f"see n{self.count}"

    def command(self, depth: int) -> str:
        name, word, test = self.any(*NAMES), self.any(*WORDS), self.any(*TESTS)
        kind = self.random.randrange(12 if depth < 3 else 5)
        if kind < 5:
            return [f"{name}={word}", f"export {name}={word}", f"export {name}", f"unset {name}", self.see()][kind]
        body = "\n".join(self.command(depth + 1) for _ in range(2))
        if kind < 7:
            return f"if {test}; then\n{body}\nelse\n{self.command(depth + 1)}\nfi"
        if kind < 9:
            return f"for i in {word} {self.any(*WORDS)}; do\n{name}=$i\n{body}\ndone"
        if kind < 10:
            return f"(\n{body}\n)"
        if kind < 11:
            return f"while read -r x y; do\n{name}=$x\n{body}\ndone <<EOF\na 1\nb $A\nEOF"
        self.count += 1
        loop = WHILE.replace("@", str(self.count))
        return loop.format(body, test, self.any("break", "continue"), self.command(depth + 1))


def really(text: str, folder: Path) -> list[list[str]]:
    program = folder / "see"
    program.write_text('#!/bin/sh\necho "@@$1|${A-~}|${B-~}|${C-~}" >&2\n')
    program.chmod(0o755)
    (folder / "a.sh").write_text(text)
    ran = subprocess.run(
        ["bash", "a.sh"], cwd=folder, env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=20, check=False,
    )  # fmt: skip
    return [line[2:].split("|") for line in ran.stderr.splitlines() if line.startswith("@@")]


def test_no_value_is_ruled_out_that_a_program_has(tmp_path: Path) -> None:
    wrong, pairs = [], 0
    for seed in range(40):
        text = Script(seed).text
        said: dict[tuple[str, str], set[str | None]] = {}
        for process in follow("a.sh", text, "shell").processes:
            for name in NAMES:
                said.setdefault((process.label, name), set()).update(given(process.sees, name, {}))
        for label, *values in really(text, tmp_path):
            for name, value in zip(NAMES, values, strict=True):
                may = said.get((f"see {label}", name), set())
                pairs += 1
                if UNKNOWN not in may and (None if value == "~" else value) not in may:
                    wrong.append((seed, label, name, value, may))
    assert wrong == []
    assert pairs > 300
