"""NVIDIA's list of data-centre driver releases: branches, and the newest release of each."""

from __future__ import annotations

import json
from collections.abc import Iterator

from doctor.knowledge import Knowledge
from doctor.versions import Dotted
from refresh.pypi import Fetch

TITLE = "NVIDIA's driver releases"
URL = "https://docs.nvidia.com/datacenter/tesla/drivers/releases.json"


def ask(get: Fetch, kb: Knowledge) -> Iterator[str]:
    """`+ driver_branches: 620 (new feature branch), newest 620.10`. Raises ValueError for a reply of another shape."""
    known = {branch.branch: branch for branch in kb.driver_branches()}
    for name, said in sorted(json.loads(get(URL, {})).items()):
        releases = [str(row["release_version"]) for row in said["driver_info"]]
        newest, branch = max(releases, key=lambda v: Dotted(v).numbers), str(Dotted(name).major or name)
        old = known.get(branch)
        if old is None:
            yield f"+ driver_branches: {branch} ({said.get('type', 'no type')}), newest {newest}"
        elif old.latest is None or Dotted(newest) > old.latest:
            yield f"+ driver_branches: {branch}: {old.latest} -> {newest}"
