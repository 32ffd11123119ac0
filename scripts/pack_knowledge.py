"""Packs tables of doctor/knowledge/data into one file, to be signed and installed on nodes without network.

    python scripts/pack_knowledge.py 2026.12.01 doctor-knowledge-2026.12.01.json [TABLE …]
    ssh-keygen -Y sign -f KEY -n doctor-knowledge doctor-knowledge-2026.12.01.json

Without TABLEs all are packed. docs/knowledge.md tells how keys are made.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.knowledge_update import pack


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        sys.stderr.write((__doc__ or "") + "\n")
        return 2
    release, path, *tables = arguments
    Path(path).write_bytes(pack(release, tuple(tables)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
