"""Writes everything of this repository that is made from something else in it.

    ./dev generate              writes what differs, and names it
    ./dev generate --check      writes nothing; exit 1 where something differs

Pages of docs/ that are made from the program are built with the site and not committed (scripts/generated_pages.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from doctor.flags.conditions import triggers  # noqa: E402
from doctor.fleet import schema as fleet  # noqa: E402 -- of this checkout, not of an installed one
from doctor.images import lockfile  # noqa: E402
from doctor.images.emit import emitted  # noqa: E402
from doctor.images.recipe import recipe, with_lock  # noqa: E402
from doctor.knowledge import Knowledge  # noqa: E402
from doctor.knowledge.tables import FLAG_FILES  # noqa: E402
from doctor.profiles import load  # noqa: E402
from doctor.report.formats import json as report  # noqa: E402
from doctor.rule_ids import rule_ids  # noqa: E402

DATA = ROOT / "doctor" / "knowledge" / "data"
CONDITIONS = ROOT / "scripts" / "flag_conditions.toml"
IDS = ROOT / "tests" / "contracts" / "published_ids.txt"
_KEPT = ("rule", "open", "elsewhere", "dropped", "severity", "problem", "fix", "audit", "shown")


def generated() -> Iterator[tuple[Path, str]]:
    """Each file with the text that it has to have."""
    yield ROOT / "docs" / "report.schema.json", _json(report.schema())
    yield ROOT / "docs" / "fleet.schema.json", _json(fleet.schema())
    yield DATA / "flags" / "conditions.json", _table("flags/conditions", _conditions())
    yield DATA / "flags" / "names.json", _table("flags/names", _names())
    for folder in sorted(path for path in (ROOT / "dockerfiles").iterdir() if path.is_dir()):
        made = emitted(with_lock(recipe(load(folder.name), lockfile.read(folder), Knowledge())))
        yield from ((folder / name, text) for name, text in made.items())
    yield IDS, "".join(f"{each}\n" for each in sorted({*rule_ids(), *IDS.read_text("utf-8").split()}))


def _conditions() -> dict[str, dict[str, Any]]:
    """One entry an interaction of scripts/flag_conditions.toml, without the examples that its test reads."""
    rows = tomllib.loads(CONDITIONS.read_text("utf-8"))
    made = {
        name: {
            "id": name,
            "lines": row.get("if"),
            "triggers": list(triggers(row.get("if", ()))),
            **{key: row.get(key) for key in _KEPT},
            "source": "flags/interactions, under the same id",
            "as_of": "2026-11-21",
        }
        for name, row in rows.items()
    }
    return {name: {k: v for k, v in row.items() if v not in (None, [], {})} for name, row in made.items()}


def _names() -> dict[str, dict[str, Any]]:
    """In which tables a flag is described, so that a run reads only those."""
    found: dict[str, dict[str, Any]] = {}
    for file in FLAG_FILES:
        for flag in json.loads((DATA / "flags" / f"{file}.json").read_text("utf-8"))["entries"].values():
            row = found.setdefault(
                flag["name"],
                {"name": flag["name"], "tables": [], "source": "the tables of flags", "as_of": "2026-11-20"},
            )
            row["tables"] = sorted({*row["tables"], file})
    return found


def _json(made: dict[str, Any]) -> str:
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def _table(name: str, rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        f"{json.dumps(key)}:{json.dumps(row, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"
        for key, row in sorted(rows.items())
    ]
    return f'{{"schema":"doctor.{name}/1","entries":{{\n' + ",\n".join(lines) + "\n}}\n"


def main(arguments: list[str]) -> int:
    differ = [(path, text) for path, text in generated() if not path.exists() or path.read_text("utf-8") != text]
    names = ", ".join(str(path.relative_to(ROOT)) for path, _ in differ) or "nothing"
    if arguments == ["--check"]:
        sys.stdout.write(f"generate: {names} differs\n")
        return 1 if differ else 0
    for path, text in differ:
        path.write_text(text, "utf-8")
    sys.stdout.write(f"generate: {names} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
