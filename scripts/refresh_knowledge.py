"""Carries a folder of sourced facts into doctor/knowledge/data/, table by table.

    python scripts/refresh_knowledge.py FACTS_DIR [--labels LABELS_YAML] [--only TABLE]... [--check]

FACTS_DIR holds amd/, nvidia/, frameworks/ and flags/ with YAML files; LABELS_YAML is the vocabulary of causes, by
default ../field/labels.yaml beside it. Contradictions that people noted stand in scripts/conflicts.toml; those that
the facts hold side by side are found here. How packages are installed stands in scripts/package_ways.toml, which tools
serve which GPUs in scripts/tool_support.toml, when
rules between flags hold in scripts/flag_conditions.toml, what the flags' tables have wrong in
scripts/flag_corrections.toml. The output
is the same for the same input: sorted keys, one entry a line. `--check` writes nothing and exits 1 where a table would
change. docs/knowledge.md says where each table's facts are looked up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import flag_tables
import knowledge_builders as builders
import yaml
from knowledge_builders import Row, entry, natural
from knowledge_conflicts import conflicts

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.knowledge.tables import FLAG_FILES, TABLES, Table  # noqa: E402 -- of this checkout, not of an installed one

DATA = ROOT / "doctor" / "knowledge" / "data"
_LEFT_OUT = ("source", "sources", "as_of", "memory")
"""`memory` is what the facts remember without a source: it is not carried."""
_RENAMED = {"class": "gpu_class", "if": "conditions"}


def main(arguments: list[str]) -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("facts", type=Path)
    asked.add_argument("--labels", type=Path)
    asked.add_argument("--only", action="append", default=[])
    asked.add_argument("--check", action="store_true")
    asked.add_argument("--release", help="number of the release, as 2026.11.21")
    options = asked.parse_args(arguments)
    load = _loader(options.facts)
    labels = options.labels or options.facts.parent / "field" / "labels.yaml"
    changed = []
    for table in TABLES:
        if options.only and table.name not in options.only:
            continue
        text = rendered(table.name, entries(table, load, labels))
        path = DATA / f"{table.name}.json"
        if path.exists() and path.read_text("utf-8") == text:
            continue
        changed.append(table.name)
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    if options.release and not options.check:
        newest = max(
            row["as_of"]
            for t in TABLES
            for row in json.loads((DATA / f"{t.name}.json").read_text())["entries"].values()
        )
        about = {"schema": "doctor.about/1", "release": options.release, "as_of": newest}
        (DATA / "about.json").write_text(json.dumps(about) + "\n", "utf-8")
    sys.stdout.write(f"changed: {', '.join(changed) or 'none'}\n")
    return 1 if options.check and changed else 0


Load = Callable[[str], Row]


def _loader(facts: Path) -> Load:
    @cache
    def load(name: str) -> Row:
        data: Row = yaml.load((facts / name).read_text("utf-8"), Loader=yaml.CSafeLoader)
        return data

    return load


def entries(table: Table, load: Load, labels: Path) -> dict[str, Row]:
    """The entries of a table, from its own builder or carried as they are."""
    name = table.name
    made: dict[str, Callable[[], dict[str, Row]]] = {
        "amd_gpus": lambda: builders.amd_gpus(load("amd/gpus.yaml")),
        "gfx_targets": lambda: builders.gfx_targets(load("amd/gpus.yaml")),
        "rocm_releases": lambda: builders.rocm_releases(load("amd/rocm-releases.yaml")),
        "nvidia_gpus": lambda: builders.nvidia_gpus(load("nvidia/pci-ids.yaml"), load("nvidia/gpus.yaml")),
        "compute_capabilities": lambda: builders.compute_capabilities(load("nvidia/gpus.yaml")),
        "cuda_majors": lambda: builders.cuda_majors(load("nvidia/cuda-releases.yaml")),
        "cuda_toolkits": lambda: builders.cuda_toolkits(load("nvidia/cuda-releases.yaml")),
        "driver_branches": lambda: builders.driver_branches(load("nvidia/driver-branches.yaml")),
        "xids": lambda: builders.xids(load("nvidia/xid.yaml")),
        "sxids": lambda: builders.sxids(load("nvidia/xid.yaml")),
        "torch_builds": lambda: builders.torch_builds(load("frameworks/pytorch.yaml"), load("amd/rocm-pytorch.yaml")),
        "companions": lambda: builders.companions(load("frameworks/pytorch.yaml")),
        "vocabulary": lambda: builders.vocabulary(yaml.safe_load(labels.read_text("utf-8"))),
        "flags/names": lambda: flag_names(load),
        "conflicts": lambda: conflicts(load),
        "early_cuda": builders.early_cuda,
        "package_ways": builders.package_ways,
        "tool_support": builders.tool_support,
        "flags/conditions": flag_tables.conditions,
    }
    return made[name]() if name in made else flag_tables.corrected(name, carried(table, load))


def carried(table: Table, load: Load) -> dict[str, Row]:
    """The list of the facts as it is, by key; entries that share a key are told apart by #2, #3 …"""
    file, _, listed = table.facts.partition(":")
    facts = load(file)
    rows: dict[str, Row] = {}
    found = facts[listed]
    if isinstance(found, dict):
        found = [{"id": listed, **found}]
    elif found and isinstance(found[0], int):
        found = [{"id": listed, "codes": found, "source": _codes_source(facts), "as_of": facts["as_of"]}]
    for row in found:
        key = " ".join(str(row[k]) for k in table.key)
        number = 2
        while key in rows:
            key = f"{key.split('#')[0]}#{number}"
            number += 1
        said = {"source": row.get("source") or row["sources"], "as_of": row.get("as_of") or facts["as_of"]}
        rows[key] = entry(said, **{_RENAMED.get(k, k): v for k, v in row.items() if k not in _LEFT_OUT})
    return rows


def _codes_source(facts: Row) -> list[str]:
    """A bare list of numbers has no source of its own: that of the entries beside it."""
    return list(facts["xids"][0]["source"])


def flag_names(load: Load) -> dict[str, Row]:
    """Name → tables that describe it."""
    tables: dict[str, list[str]] = {}
    for file in FLAG_FILES:
        for flag in load(f"flags/{file}.yaml")["flags"]:
            held = tables.setdefault(flag["name"], [])
            if file not in held:
                held.append(file)
    said = {"source": "the tables of flags", "as_of": load(f"flags/{FLAG_FILES[0]}.yaml")["as_of"]}
    return {name: entry(said, name=name, tables=held) for name, held in tables.items()}


def rendered(name: str, rows: dict[str, Row]) -> str:
    lines = [
        f"{json.dumps(key)}:{json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"
        for key, value in sorted(rows.items(), key=lambda item: natural(item[0]))
    ]
    text = f'{{"schema":"doctor.{name}/1","entries":{{\n' + ",\n".join(lines) + "\n}}\n"
    return text.replace("rocm-releases.yaml of this set (sources there)", "the release matrices of rocm_releases.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
