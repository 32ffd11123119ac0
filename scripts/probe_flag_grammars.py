"""Reads flags of Python components with twelve spellings each, by running the component's own expression.

    python scripts/probe_flag_grammars.py PYTHON [--out doctor/knowledge/data/flags/witnesses.json]

PYTHON belongs to an environment that holds some of the packages below. The child finds in a package's source every
expression that reads a variable by its name, and evaluates the largest one around it that needs nothing but the
module's own names; vLLM, SGLang and Triton are asked by their own tables. A flag that is read in two ways is left out:
no grammar holds for it. What comes out is data: flag -> spelling -> value, `error`, or what it is unset.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.knowledge.store import table  # noqa: E402 -- of this checkout

OUT = ROOT / "doctor" / "knowledge" / "data" / "flags" / "witnesses.json"
CHILD = Path(__file__).with_name("probe_flag_child.py")
PACKAGES = {
    "torch": tuple(
        f"torch/{w}" for w in ("_inductor", "_dynamo", "_functorch", "utils", "cuda", "distributed", "compiler")
    ),
    "transformer_engine": ("transformer_engine",),
    "vllm": ("vllm/envs.py",),
    "sglang": ("sglang/srt/environ.py",),
    "triton": ("triton/knobs.py",),
    "jax": ("jax/_src",),
    "deepspeed": ("deepspeed",),
    "accelerate": ("accelerate",),
    "huggingface_hub": ("huggingface_hub",),
}


def main(arguments: list[str]) -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("python")
    asked.add_argument("--out", type=Path, default=OUT)
    options = asked.parse_args(arguments)
    names = sorted(table("flags/names"))
    kept = (row for row in table("flags/witnesses").items() if _stays(str(row[1]["source"])))
    entries: dict[str, dict[str, object]] = dict(kept)
    for package, places in PACKAGES.items():
        said = json.dumps({"package": package, "places": places, "names": names})
        done = subprocess.run(
            [options.python, str(CHILD)], input=said, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            sys.stderr.write(f"{package}: {done.stderr.strip()[-300:]}\n")
            continue
        for name, row in json.loads(done.stdout.splitlines()[-1]).items():
            if not _tells(row["values"]):
                continue
            entries[f"{name} {package}"] = row | {"name": name, "as_of": "2026-11-23"}
    lines = ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in sorted(entries.items()))
    options.out.write_text(f'{{"schema":"doctor.flags/witnesses/1","entries":{{\n{lines}\n}}}}\n', "utf-8")
    sys.stdout.write(f"{len(entries)} flags\n")
    return 0


def _stays(source: str) -> bool:
    """From a harness around lines of C++, or of a source tree that is no package of the environment."""
    return source.startswith("src ") or source.split()[1] not in PACKAGES


def _tells(values: dict[str, str]) -> bool:
    """Whether a reading shows: not where each text is kept as it is, where it is a path, or where being set is all that
    counts."""
    made = {text: value for text, value in values.items() if text != "(unset)"}
    kept = all(value.lower() == repr(text).lower() for text, value in made.items())
    chosen = made["junk"].startswith("error ValueError ")
    return not kept and not any("/" in value for value in values.values()) and (len(set(made.values())) > 1 or chosen)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
