"""Every shipped profile is valid, matches its own hardware and no other, and says where each value comes from."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from doctor.engine.gather import gather
from doctor.engine.identify import identify
from doctor.engine.registry import probes
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from doctor.profiles import Profile, folder, load, names, rank
from doctor.profiles.compose import compose, find
from doctor.profiles.pairs import faults as stack_faults
from doctor.profiles.pairs import pairs
from doctor.profiles.parts import ImageWish
from doctor.profiles.reading import parse
from doctor.rule_ids import rule_ids
from doctor.system.tree import TreeSystem
from doctor.triage.read import read_text
from tests.each import each
from tests.live.trees import lay_out
from tests.paths import FIELDLAB, needs_shared
from tests.profiles.boards import BOARDS, NEIGHBOURS, machine

NAMES = names(folder())
PAIRS = tuple(pairs(folder()).values())
APPLICATIONS = tuple(name for name in NAMES if load(name, folder()).only_named)
BY_BOARD = tuple(name for name in NAMES if name not in APPLICATIONS)
STACKS = ("rocm7.14", "rocm7.2", "cuda13.2", "cuda13.0", "debian13")
TODAY = datetime.date(2026, 11, 24)


def board_of(name: str) -> str:
    return next(board for board in BOARDS if name.startswith(f"{board}+"))


@pytest.fixture(scope="module")
def fitting() -> dict[str, set[str]]:
    """Board → the names of the profiles that fit a machine with it."""
    found = {}
    for name, board in {**BOARDS, **NEIGHBOURS}.items():
        found[name] = {c.name for c in rank(machine(board), folder()).candidates if c.fits}
    return found


@each("name", APPLICATIONS)
def test_what_is_only_named_matches_no_machine(name: str, fitting: dict[str, set[str]]) -> None:
    assert [board for board, held in fitting.items() if name in held] == []
    candidates = rank(machine(BOARDS[board_of(name)]), folder()).candidates
    assert next(c.reason for c in candidates if c.name == name) == "it is used only where it or its workload is named"


def test_each_application_that_users_ask_for_has_a_profile() -> None:
    """Those of the guides: servers, frameworks, training libraries, profilers."""
    packages = {p.name for name in APPLICATIONS for p in (load(name, folder()).image or ImageWish()).pip}
    tools = {a.name for name in APPLICATIONS for a in (load(name, folder()).image or ImageWish()).apt}
    wanted = {"vllm", "sglang", "tensorflow", "jax", "deepspeed", "megatron-core", "transformer-engine-torch"}
    assert wanted | {"jax-rocm7-plugin", "mlc-llm-nightly-cu130"} <= packages
    assert {"rocprofiler-systems", "nsight-systems-2025.5.2", "nsight-compute-2025.4.1", "libhipblaslt1"} <= tools


@each("name", BY_BOARD)
def test_it_matches_its_hardware_and_no_other(name: str, fitting: dict[str, set[str]]) -> None:
    assert [board for board, held in fitting.items() if name in held] == [board_of(name)]


@each("board", BOARDS)
def test_each_board_has_the_current_and_the_previous_stack(board: str) -> None:
    mine = [name for name in NAMES if name.startswith(f"{board}+")]
    current, previous = ("rocm7.14", "rocm7.2") if BOARDS[board].vendor == "amd" else ("cuda13.2", "cuda13.0")
    assert {f"{board}+{current}", f"{board}+{previous}"} <= set(mine)
    assert load(f"{board}+{current}", folder()).order < load(f"{board}+{previous}", folder()).order


@each("board", BOARDS)
def test_without_a_pci_id_its_name_decides(board: str) -> None:
    held = {c.name for c in rank(machine(BOARDS[board], without=("pci_id",)), folder()).candidates if c.fits}
    assert held == {name for name in BY_BOARD if name.startswith(f"{board}+")}


@each("board", NEIGHBOURS)
def test_a_neighbour_is_not_taken_for_it_by_its_name(board: str) -> None:
    held = [c for c in rank(machine(NEIGHBOURS[board], without=("pci_id",)), folder()).candidates if c.fits]
    assert held == []


@each("name", NAMES)
def test_every_value_has_a_source_that_is_not_of_the_future(name: str) -> None:
    profile = load(name, folder())
    sources = [
        *(e.source for e in profile.expect),
        *(f.source for f in profile.flag),
        *(n.source for n in profile.need),
    ]
    sources += [*(n.source for n in profile.need), *(b.source for b in profile.baseline)]
    if profile.image:
        sources += [*(p.source for p in profile.image.pip), *(a.source for a in profile.image.apt)]
    assert profile.expect
    assert all(source.as_of <= TODAY for source in sources)


def known_rules(profile: Profile) -> list[str]:
    return [e.rule for e in profile.expect if e.rule and e.rule not in rule_ids()]


@each("name", NAMES)
def test_the_rules_that_it_names_exist(name: str) -> None:
    assert known_rules(load(name, folder())) == []


def test_every_shipped_profile_is_a_board_and_a_stack() -> None:
    assert list(folder().glob("*.toml")) == []
    assert list(stack_faults(folder())) == []


@each("name", NAMES)
def test_it_holds_what_its_board_and_its_stack_do_and_the_stack_is_over_the_board(name: str) -> None:
    """The rule of composition, for each profile: every value is one of the board, of the stack, or what the board adds
    on such stacks; none is lost but for one that replaces it."""
    pair = pairs(folder())[name]
    board, stack = parts_of(pair.board_file), parts_of(pair.file)
    whole = load(name, folder())
    added = {row["name"] for rows in board["on"] for row in rows.get("flag", ())}
    assert {e.fact for e in whole.expect} >= board["expect"] | stack["expect"]
    assert {f.name for f in whole.flag} <= board["flag"] | stack["flag"] | added
    assert {f.name for f in whole.flag} >= board["flag"] | stack["flag"]
    assert {p.name for p in (whole.image or ImageWish()).pip} == stack["pip"]
    assert {b.what for b in whole.baseline} == board["baseline"]
    assert whole.hardware.vendor == ("nvidia" if "sm_" in str(whole.hardware.arch) else "amd")


def parts_of(path: Path) -> dict[str, Any]:
    """What one file holds, with the parts that it extends: its rows' names by kind, and its rows for some stacks."""
    held = parse(path)
    found: dict[str, Any] = {
        "on": list(held.get("on", {}).values()),
        "expect": {row["fact"] for row in held.get("expect", ())},
        "flag": {row["name"] for row in held.get("flag", ())},
        "pip": {row["name"] for row in held.get("image", {}).get("pip", ())},
        "baseline": {row["what"] for row in held.get("baseline", ())},
    }
    for part in held.get("extends", ()):
        for kind, rows in parts_of(folder() / f"{part}.toml").items():
            found[kind] = [*found[kind], *rows] if kind == "on" else found[kind] | rows
    return found


def test_every_part_is_used() -> None:
    used = {origin[0] for name in NAMES for origin in compose(find(name, folder()), (folder(),)).origin.values()}
    unused = {path for path in folder().glob("*/*.toml") if path not in used}
    assert {path.name for path in unused} <= {"nvidia-geforce.toml"} | {f"{pair.stack}.toml" for pair in PAIRS}


@each("name", NAMES)
def test_its_status_rests_on_something_that_is_named_and_dated(name: str) -> None:
    evidence = load(name, folder()).evidence
    assert evidence is not None
    assert evidence.as_of <= TODAY


@each("name", [pair.name for pair in PAIRS if pair.stack.startswith("rocm")])
def test_a_vendor_s_matrix_lists_what_says_so(name: str) -> None:
    """AMD's table of ROCm and torch, as the catalogue has it: what is not in it is not called vendor-matrix."""
    profile = load(name, folder())
    series = {e.fact: e.series for e in profile.expect}
    family = "Instinct" if name.startswith("mi") else "Radeon and Ryzen"
    rocm, torch = series["rocm[*].version"], series.get("torch.version")
    rows = [row for row in table("amd_supported_torch").values() if row["rocm"].startswith(f"{rocm}.")]
    listed = [t for row in rows if row["family"] in ("all", family) for t in row["torch"]]
    assert rows
    assert (profile.status == "vendor-matrix") == any(t.startswith(f"{torch}.") for t in listed)


SERVERS = {"vllm": "vllm", "sglang": "sglang", "mlc": "mlc-llm-nightly-cu130"}


def test_a_profile_for_serving_holds_its_server() -> None:
    serving = [name for name in NAMES if load(name, folder()).workload == "serve"]
    assert serving
    for name in serving:
        image = load(name, folder()).image or ImageWish()
        server = SERVERS[name.rpartition("+")[2]]
        assert server in {p.name for p in image.pip} or f"/{server}:" in (image.ready or ""), name


def test_training_and_serving_differ_where_the_guides_do() -> None:
    train, serve = load("mi355x+rocm7.14+train", folder()), load("mi355x+rocm7.14+vllm", folder())
    assert {f.name for f in train.flag} > {"RCCL_WARP_SPEED_AUTO", "GPU_MAX_HW_QUEUES"}
    assert not {f.name for f in train.flag if f.kind == "workload"} & {f.name for f in serve.flag}


def test_the_debian_profile_takes_nothing_but_debian_s_packages() -> None:
    image = load("rx7900+debian13", folder()).image
    assert image is not None
    assert (image.base, image.pip) == ("debian:13", ())
    assert {"librocblas0", "libamdhip64-5", "rocminfo"} <= {a.name for a in image.apt}


def wanted_torch(profile: Profile) -> str | None:
    return next((e.series for e in profile.expect if e.fact == "torch.version"), None)


def test_the_image_s_torch_is_the_one_that_is_expected() -> None:
    for name in NAMES:
        profile = load(name, folder())
        if profile.image and profile.image.ready:
            assert f"_pytorch_{wanted_torch(profile)}." in profile.image.ready
        if profile.image is None or profile.image.base is None:  # for `doctor check` alone, or used as it is
            continue
        torch = next((p for p in profile.image.pip if p.name == "torch"), None)
        assert (torch and (torch.version or "").rpartition(".")[0]) == wanted_torch(profile), name


def probed(tree: str, tmp_path: Path) -> Snapshot:
    return identify(gather(TreeSystem(lay_out(tree, tmp_path)), probes()).machine, Knowledge())


@needs_shared
@pytest.mark.parametrize(
    ("tree", "board"), [("amd-mi300x-8gpu-cpx-kfd", "mi300x"), ("amd-rx9070xt-drm-sysfs", "rx9070")]
)
def test_captured_machines_match_theirs(tree: str, board: str, tmp_path: Path) -> None:
    ranking = rank(probed(tree, tmp_path), folder())
    assert {c.name for c in ranking.candidates if c.fits} == {n for n in BY_BOARD if n.startswith(f"{board}+")}
    current = "rocm7.14"
    assert ranking.chosen is not None
    assert ranking.chosen.name == f"{board}+{current}"


@needs_shared
@pytest.mark.parametrize("tree", ["amd-rx7800xt-drm-sysfs", "nvidia-rtx4080-drm-sysfs", "intel-a380-i915-drm-sysfs"])
def test_captured_machines_without_a_profile_match_none(tree: str, tmp_path: Path) -> None:
    ranking = rank(probed(tree, tmp_path), folder())
    assert ranking.chosen is None
    assert not any(c.fits for c in ranking.candidates)


TEXTS = {
    "nvidia-h100sxmx8-gls/nvidia-smi-q.txt": "h100",
    "nvidia-a100sxmx4-gls/nvidia-smi-q.txt": "a100",
    "nvidia-a100-sxm4-80g-mig-telegraf/nvidia-smi-q.xml": "a100",
    "nvidia-l40s-gls/nvidia-smi-q.txt": "l40s",
    "nvidia-rtx5090-gls/nvidia-smi-q.txt": "rtx5090",
    "amd-mi300x-8gpu-mlengineering/rocm-smi.txt": "mi300x",
    "amd-mi300x-vf-visionguard/rocm-smi.txt": "mi300x",
    "amd-mi210-amdsmi-static-json-dme/amd-smi-static.json": "mi210",
    "amd-mi210-4gpu-ctk-docs/rocm-smi.txt": "mi210",
    "amd-mi250-rocm5-wandb/rocm-smi-a.json": "mi250",
    "amd-strix-halo-rocm712-localdoc/rocminfo.txt": "strix-halo",
    "amd-strix-halo-rocm712-localdoc/amd_smi_static.txt": "strix-halo",
    "nvidia-gh200-gls/nvidia-smi-q.txt": "gh200",
    "nvidia-a10-gls/nvidia-smi-q.txt": None,
    "nvidia-rtx4060ti-gls/nvidia-smi-q.txt": None,
    "nvidia-rtx6000ada-x8-gls/nvidia-smi-q.txt": None,
}
"""What the tools of real machines printed, and whose profiles fit."""


@needs_shared
@each("path", TEXTS)
def test_what_real_tools_printed(path: str) -> None:
    node = identify(read_text([(FIELDLAB / path).read_bytes()]), Knowledge())
    held = {c.name for c in rank(node, folder()).candidates if c.fits}
    assert held == {name for name in BY_BOARD if TEXTS[path] and name.startswith(f"{TEXTS[path]}+")}
