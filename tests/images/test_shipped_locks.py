"""The locks that ship: what each answers, who shares it, and that none lies there unasked."""

from __future__ import annotations

import re
from importlib.resources import files as resources
from pathlib import Path

import pytest
from pydantic import BaseModel

from doctor.errors import DataFileError
from doctor.images import lockfile
from doctor.images.emit import emitted
from doctor.images.inside import Inner
from doctor.images.lockfile import AptLock, BaseLock, WheelLock, shipped
from doctor.images.recipe import Recipe, recipe, with_lock
from doctor.knowledge import Knowledge
from doctor.parsers.python.dist_info import normal
from doctor.profiles import load, names
from tests.images.profiles import nvidia, package

KB = Knowledge()
INNER = Inner("rocm_cuda_doctor-0.1.0-py3-none-any.whl", "e" * 64, b"a wheel")
FOLDER = Path(str(resources("doctor.images"))) / "locks"
KINDS: dict[str, type[BaseModel]] = {"base": BaseLock, "apt": AptLock, "wheels": WheelLock}
NOT_LOCKED = {
    "h100+cuda13.0+mlc": {"hashes of the Python packages"},  # the project's own page of links
    "mi300x+rocm7.2+rocprof": {"versions of the distribution's packages"},  # AMD's repository
    "rx7900+debiansid": {"the base's digest", "versions of the distribution's packages"},  # it moves
} | {
    # Ubuntu's archive for Arm could not be asked, and which platforms a digest is of is not known.
    f"{board}+{stack}": {"the base's digest", "versions of the distribution's packages"}
    for board in ("gb200", "gh200")
    for stack in ("cuda13+jax", "cuda13.0", "cuda13.0+sglang", "cuda13.0+vllm", "cuda13.2", "cuda13.2+train")
}


@pytest.fixture(scope="module")
def made() -> dict[str, Recipe]:
    with_image = {name: p for name in names() if (p := load(name)).image and p.image and p.image.base}
    return {name: with_lock(recipe(p, None, KB, doctor=INNER)) for name, p in with_image.items()}


def test_an_image_is_locked_without_a_registry_an_index_or_an_engine(made: dict[str, Recipe]) -> None:
    assert {name: set(r.unlocked) for name, r in made.items() if r.unlocked} == NOT_LOCKED
    text = emitted(made["mi300x+rocm7.2+train"])
    assert "UNLOCKED" not in text["Dockerfile"]
    assert "ubuntu:24.04@sha256:" in text["Dockerfile"]
    assert "snapshot.ubuntu.com/ubuntu/2026" in text["apt/sources.list"]


def test_boards_of_a_stack_share_a_lock(made: dict[str, Recipe]) -> None:
    assert made["h100+cuda13.2+train"].lock == made["b200+cuda13.2+train"].lock
    locks = {r.lock.digest() for r in made.values() if r.lock}
    assert len(locks) < len(made) / 2


def test_a_board_with_an_arm_processor_has_wheels_for_it(made: dict[str, Recipe]) -> None:
    gh200, h100 = made["gh200+cuda13.2+train"], made["h100+cuda13.2+train"]
    assert (gh200.platform, h100.platform) == ("linux/arm64", "linux/amd64")
    assert all(
        "aarch64" in w.file or w.file.endswith("-any.whl")
        for w in (*(gh200.wheels or ()), *(gh200.doctor_wheels or ()))
    )
    assert [(w.name, w.version) for w in gh200.wheels or ()] == [(w.name, w.version) for w in h100.wheels or ()]


def test_each_part_says_who_saw_it_and_when_and_is_asked_for(made: dict[str, Recipe]) -> None:
    parts = {path.name: KINDS[path.name.partition("-")[0]] for path in FOLDER.glob("*.json")}
    read = {name: shipped(kind, name) for name, kind in parts.items()}
    assert all(part.observed and part.as_of for part in read.values())  # type: ignore[union-attr]
    used = [p for r in made.values() if r.lock for p in (r.lock.base, r.lock.apt, r.lock.stack, r.lock.doctor)]
    assert {name for name, part in read.items() if part not in used} == set()


def test_another_version_of_a_package_is_another_question() -> None:
    there = with_lock(recipe(load("h100+cuda13.2"), None, KB))
    other = with_lock(recipe(nvidia(pip=[package("torch", "2.15.0"), package("torchvision", "0.29.1")]), None, KB))
    assert there.wheels
    assert other.wheels is None
    assert other.digest == there.digest


ALONE = re.compile(r"(?:pytorch-)?triton-rocm|triton-xpu|rocm(?:-sdk.*)?|mlc-(?:ai|llm).*")
"""Names that come from a vendor's index alone, whatever PyPI has under them."""


def test_what_an_index_alone_has_comes_from_it(made: dict[str, Recipe]) -> None:
    """Beside the names: what has a build in its version is on its vendor's index, and so is what is asked of one."""
    wrong = list[tuple[str, str]]()
    for name, given in made.items():
        wanted = {normal(p.name): p.index for p in given.pip}
        torch = wanted.get("torch")
        for w in (*(given.wheels or ()), *(given.doctor_wheels or ())):
            index = wanted.get(w.name, torch if ALONE.fullmatch(w.name) else None)
            if w.index != index or (("+" in w.version or ALONE.fullmatch(w.name)) and w.index is None):
                wrong.append((name, w.name))
            if w.index and w.observed != "public-file":
                wrong.append((name, f"{w.name}: nobody says who saw its hash"))
    assert wrong == []
    indexes = {w.index for r in made.values() for w in r.wheels or ()}
    assert indexes == {None, "https://download.pytorch.org/whl/rocm7.2"}


def test_a_damaged_part_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = shipped(WheelLock, next(p.name for p in FOLDER.glob("wheels-torch-2.15.0-*")))
    assert part
    text = part.model_dump_json()
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/x.json").write_text(text.replace(part.wheels[0].sha256, "$(id)"))
    monkeypatch.setattr(lockfile, "resources", lambda _: tmp_path)
    with pytest.raises(DataFileError, match=r"x\.json.*wheels\.0\.sha256"):
        shipped(WheelLock, "x.json")
    assert shipped(WheelLock, "none.json") is None
