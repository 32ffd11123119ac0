"""`doctor env` on launch files of public repositories: which errors and warnings are true and useful.

    python -m benchmarks.env_corpus FOLDER

FOLDER holds a git directory or a checkout of each repository, as OWNER+NAME or OWNER+NAME/repo. The commits and the
verdict on each finding, made by reading the file, stand in env_corpus.json; the files themselves are not kept. Of a
repository the files count whose name is that of a launch file and which name a variable of the stack, at most 60 by the
SHA-256 of their paths. A finding without a verdict is printed.
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

from doctor.errors import ParserError
from doctor.facts.snapshot import Snapshot
from doctor.flags.files import look

CORPUS = Path(__file__).with_name("env_corpus.json")
MOST = 60
_LAUNCH = re.compile(
    r"(\.(sh|bash|sbatch|slurm|job|pbs|env|ya?ml|service|dockerfile|j2|jinja2?|tpl)$"
    r"|(^|/)(dockerfile|containerfile|\.env)[^/]*$)",
    re.IGNORECASE,
)
_FAMILIES = (
    "NCCL|RCCL|CUDA|HIP|HSA|ROCR|VLLM|PYTORCH|TORCH|MIOPEN|ROCBLAS|HIPBLASLT|TRITON|SGLANG|NVTE|UCX|XLA|NVSHMEM"
    "|AITER|OMP|FI|NVIDIA|GPU|TORCHINDUCTOR|TORCHDYNAMO|AMD|JAX"
)
_NAMES = re.compile(rf"\b(?:{_FAMILIES})_[A-Z0-9_]{{2,}}\s*[:=]|name:\s*\"?(?:{_FAMILIES})_")


def files(folder: Path, repository: str, commit: str) -> Iterator[tuple[str, str]]:
    """(path, text) of those that count."""
    held = folder / repository
    held = held / "repo" if (held / "repo").is_dir() else held
    git = ["git", "-C", str(held)]
    listed = subprocess.run([*git, "ls-tree", "-r", commit], capture_output=True, text=True, check=True).stdout
    rows = (row.split("\t", 1) for row in listed.splitlines() if row.startswith(("100644", "100755")))
    paths = sorted((p for _, p in rows if _LAUNCH.search(p)), key=lambda p: hashlib.sha256(p.encode()).hexdigest())
    count = 0
    for path in paths:
        if count >= MOST:
            return
        content = subprocess.run([*git, "show", f"{commit}:{path}"], capture_output=True, check=True).stdout
        text = content.decode("utf-8", "replace")
        if len(content) <= 1 << 20 and _NAMES.search(text):
            count += 1
            yield path, text


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    corpus = json.loads(CORPUS.read_text("utf-8"))
    verdicts = {(f["repository"], f["path"], f["line"], f["variable"]): f["verdict"] for f in corpus["findings"]}
    seen: Counter[str] = Counter()
    told: Counter[str] = Counter()
    classes: Counter[tuple[str, str]] = Counter()
    for row in corpus["repositories"]:
        for path, text in files(folder, row["repository"], row["commit"]):
            seen["files"] += 1
            try:
                findings = look(path, text, None, Snapshot(), {}).findings
            except ParserError as error:
                seen["refused"] += 1
                sys.stdout.write(f"refused: {row['repository']} {path}: {error}\n")
                continue
            for finding in findings:
                if finding.severity.value == "info":
                    continue
                line = int(finding.evidence[0].source.rsplit(":", 2)[1])
                verdict = verdicts.get((row["repository"], path, line, finding.subject.id), "no verdict")
                told[verdict] += 1
                named = [e.text.partition(":")[0] for e in finding.evidence]
                classes[
                    next((n for n in named if "=" not in n and n != finding.subject.id), finding.rule), verdict
                ] += 1
                if verdict == "no verdict":
                    sys.stdout.write(f"no verdict: {row['repository']} {path}:{line} {finding.summary}\n")
    sys.stdout.write(f"{len(corpus['repositories'])} repositories, {seen['files']} files, {seen['refused']} refused\n")
    for verdict, count in told.most_common():
        sys.stdout.write(f"{verdict}: {count} of {told.total()}\n")
    for (kind, verdict), count in sorted(classes.items()):
        sys.stdout.write(f"  {kind}: {verdict} {count}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
