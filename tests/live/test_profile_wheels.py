"""Each Python package of each shipped profile is on its index in that version, for the image's Python and glibc: uv
resolves them all, hashes and dependencies too. Indexes that can't be reached are skipped, each by its name."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from doctor.images import wheels
from doctor.images.recipe import Recipe, recipe
from doctor.knowledge import Knowledge
from doctor.profiles import folder, load, names
from doctor.resolve.target import glibc_of

pytestmark = pytest.mark.slow
KB = Knowledge()
PROFILES = [load(name, folder()) for name in names(folder())]
RECIPES = [recipe(profile, None, KB) for profile in PROFILES if profile.image and profile.image.base]
DISTINCT = {(*r.stack_asked, r.python): r for r in RECIPES if r.pip}


def reached(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=20):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.parametrize("given", DISTINCT.values(), ids=lambda r: r.name)
def test_every_package_is_on_its_index(given: Recipe) -> None:
    for index in sorted({p.index for p in given.pip if p.index}):
        if not reached(index):
            pytest.skip(f"{index} can't be reached")
    glibc = glibc_of(KB, given.base.os, given.base.version) or "2.28"
    lock = wheels.lock(given.pip, given.compile_needs, given.python, glibc, "linux/amd64")
    assert {p.name for p in given.pip} <= {w.name for w in lock.wheels}
    assert all(w.sha256 for w in lock.wheels)
