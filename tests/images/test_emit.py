from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from doctor.errors import InputError
from doctor.images import lockfile
from doctor.images.bases import base_of
from doctor.images.emit import differences, emitted, has_doctor, stale, wrote
from doctor.images.inside import Inner, wheel
from doctor.images.lint import lint
from doctor.images.lockfile import AptLock, BaseLock, Deb, Lock, Wheel, WheelLock
from doctor.images.recipe import DOCTOR_NEEDS, Recipe, recipe, with_lock
from doctor.knowledge import Knowledge
from doctor.parsers.container import dockerfile_instructions as reader
from doctor.profiles import load, names
from tests.each import each
from tests.images.profiles import SOURCE, flag, nvidia, package, profile

REPO = Path(__file__).resolve().parents[2]
COMMITTED = REPO / "dockerfiles"
KB = Knowledge()
DIGEST = "sha256:" + "a" * 64


INNER = Inner("rocm_cuda_doctor-0.1.0-py3-none-any.whl", "e" * 64, b"a wheel")


def files(**more: object) -> dict[str, str]:
    return emitted(recipe(profile(**more), None, KB, doctor=INNER))


def locked(given: Recipe) -> Lock:
    """A lock that answers all of a recipe's questions."""
    wheel = Wheel(
        name="torch",
        version="2.13.0+rocm7.2",
        file="torch-2.13.0-cp312-none-any.whl",
        sha256="b" * 64,
        index="https://download.pytorch.org/whl/rocm7.2",
    )
    other = Wheel(name="filelock", version="4.2.11", file="filelock-4.2.11-py3-none-any.whl", sha256="c" * 64)
    return Lock(
        epoch=1_790_000_000,
        base=BaseLock(asked=given.image, digest=DIGEST),
        apt=AptLock(
            asked=given.apt_asked,
            base=DIGEST,
            snapshot="20261115T000000Z",
            runtime=(Deb(name="python3.12", version="3.12.3-1ubuntu0.8"),),
        ),
        stack=WheelLock(asked=given.stack_asked, python="3.12", glibc="2.39", wheels=(wheel, other)),
        doctor=WheelLock(asked=DOCTOR_NEEDS, python="3.12", glibc="2.39", wheels=(other,)),
    )


@pytest.fixture(scope="module")
def shipped() -> dict[str, Recipe]:
    """Of all profiles with an image, as the command makes them."""
    with_image = {p.plain_name: p for p in map(load, names()) if p.image and p.image.base}
    return {name: with_lock(recipe(p, lockfile.read(COMMITTED / name), KB)) for name, p in with_image.items()}


@pytest.fixture(scope="module")
def dockerfiles(shipped: dict[str, Recipe], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Those of all shipped profiles, in folders of their names."""
    folder = tmp_path_factory.mktemp("dockerfiles")
    for name, given in shipped.items():
        (folder / name).mkdir()
        (folder / name / "Dockerfile").write_text(emitted(given)["Dockerfile"])
    return sorted(folder.glob("*/Dockerfile"))


def test_the_committed_examples_are_what_is_emitted(shipped: dict[str, Recipe]) -> None:
    examples = [path.name for path in COMMITTED.iterdir()]
    assert 5 <= len(examples) <= 8
    assert {name: found for name in examples if (found := differences(shipped[name], COMMITTED / name))} == {}


def test_hadolint_finds_nothing_without_ignores(dockerfiles: list[Path]) -> None:
    """Of those that differ in numbers, names and comments alone, one is looked at."""
    alike = {_shape(path): path for path in dockerfiles}
    assert len(alike) >= 20
    paths = [str(path) for path in alike.values()]
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, "--no-color", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert not any("hadolint ignore" in path.read_text() for path in dockerfiles)


def _shape(path: Path) -> str:
    text = path.read_text().replace(path.parent.name, "")
    return re.sub(r"\d[\w.+~-]*", "0", re.sub(r"^#.*$", "", text, flags=re.MULTILINE))


def test_our_own_lint_finds_nothing_but_tags_that_are_not_locked(dockerfiles: list[Path]) -> None:
    for path in dockerfiles:
        assert {f.rule for f in lint(path.read_text(), path.name)} <= {"image-base-moves"}


def test_scripts_in_the_context_are_sound() -> None:
    scripts = [str(p) for p in (REPO / "doctor/images/context").rglob("*.sh")]
    shellcheck = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([shellcheck, "-s", "sh", *scripts], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_full_disk_leaves_what_was_there_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, given = tmp_path / "x", recipe(profile(), None, KB)
    wrote(given, folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    written = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "record.json":
            written(path, content[:10])
            raise OSError(28, "No space left on device")
        return written(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    other = recipe(profile(about="Another"), None, KB)
    with pytest.raises(InputError, match=r"x: No space left on device$"):
        wrote(other, folder, lock=True)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
    with pytest.raises(InputError, match="No space left"):
        wrote(other, tmp_path / "new", lock=True)
    assert not (tmp_path / "new").exists()


def test_the_same_bytes_on_another_machine_on_another_day(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from doctor.images.emit import wrote; "
        "from doctor.images.recipe import recipe; "
        "from doctor.profiles import load; wrote(recipe(load('mi300x+rocm7.2'), None), Path(sys.argv[1]))"
    )
    found = []
    for seed, zone, locale in (("1", "UTC", "C"), ("2", "Asia/Kathmandu", "tr_TR.UTF-8")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LANG": locale, "HOME": str(tmp_path / seed)}
        folder = tmp_path / f"out{seed}"
        folder.mkdir()
        subprocess.run([sys.executable, "-c", code, str(folder)], env=environment, cwd=REPO, check=True)
        found.append({str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert found[0] == found[1]
    assert "Dockerfile" in found[0]


def stages(text: str) -> Iterator[list[reader.Instruction]]:
    stage: list[reader.Instruction] = []
    for instruction in reader.read(text):
        if instruction.name == "FROM":
            yield stage
            stage = []
        stage.append(instruction)
    yield stage


def test_each_stage_that_runs_something_bears_the_epoch(shipped: dict[str, Recipe]) -> None:
    for given in shipped.values():
        for stage in stages(emitted(given)["Dockerfile"]):
            if any(each.name == "RUN" for each in stage):
                assert [each.text for each in stage if each.name == "ARG"] == [f"SOURCE_DATE_EPOCH={given.epoch}"]


def test_the_user_is_a_number_and_no_driver_or_compatibility_path_is_there(shipped: dict[str, Recipe]) -> None:
    for given in shipped.values():
        text = emitted(given)["Dockerfile"]
        assert [each.text for each in reader.read(text) if each.name == "USER"] == ["10001:10001"]
        assert "LD_LIBRARY_PATH" not in text
        assert not re.search(r"nvidia-driver|cuda-drivers|amdgpu-dkms|/compat", text)


def test_without_a_lock_it_says_so_loudly() -> None:
    made = files()
    assert made["Dockerfile"].count("!!!") >= 3
    assert "UNLOCKED, never built" in made["Dockerfile"]
    assert json.loads(made["record.json"])["state"] == "UNLOCKED, never built"


def test_a_whole_lock_pins_base_packages_and_wheels() -> None:
    open_ = recipe(profile(), None, KB)
    given = recipe(profile(), locked(open_), KB, doctor=INNER)
    made = emitted(given)
    assert given.unlocked == ()
    assert "!!!" not in made["Dockerfile"]
    assert f"FROM ubuntu:24.04@{DIGEST} AS os" in made["Dockerfile"]
    assert "snapshot.ubuntu.com/ubuntu/20261115T000000Z noble main" in made["apt/sources.list"]
    assert "python3.12=3.12.3-1ubuntu0.8" in made["apt/runtime.txt"]
    torch = made["python/requirements.whl-rocm7.2.txt"]
    assert "--index-url https://download.pytorch.org/whl/rocm7.2\n--require-hashes\ntorch==2.13.0+rocm7.2" in torch
    assert "filelock" not in torch
    assert "torch" not in made["python/requirements.txt"]
    assert f"--hash=sha256:{'c' * 64}" in made["python/requirements.txt"]


def test_a_lock_of_another_wish_is_not_used() -> None:
    lock = locked(recipe(profile(), None, KB))
    newer = recipe(
        profile(image={"apt": [{"name": "numactl", "why": "x", "source": flag("A", "1")["source"]}]}), lock, KB
    )
    assert newer.unlocked == ("versions of the distribution's packages",)
    other = recipe(nvidia(), lock, KB)
    assert "hashes of the Python packages" in other.unlocked


def test_only_safe_defaults_are_baked_in_each_with_its_reason_and_range() -> None:
    made = files(
        flag=[
            flag("HSA_NO_SCRATCH_RECLAIM", "1", versions="ROCm 7.1"),
            flag("GPU_MAX_HW_QUEUES", "2", kind="workload"),
            flag("NCCL_MIN_NCHANNELS", "112", kind="conditional", only="8 GPUs"),
        ]
    )
    text = made["Dockerfile"]
    before = text[: text.index('ENV HSA_NO_SCRATCH_RECLAIM="1"')].splitlines()[-1]
    assert before.startswith("# HSA_NO_SCRATCH_RECLAIM is right. Read by ROCm 7.1. https://example.org/stack")
    assert "GPU_MAX_HW_QUEUES" not in text
    assert "NCCL_MIN_NCHANNELS" not in text
    rows = {row["name"]: row["kind"] for row in json.loads(made["record.json"])["flags"]}
    assert rows.pop("HSA_NO_SCRATCH_RECLAIM") == "safe-default"
    assert rows == {"GPU_MAX_HW_QUEUES": "workload", "NCCL_MIN_NCHANNELS": "conditional"}


def test_a_default_whose_name_looks_like_a_secrets_is_set_by_the_entrypoint() -> None:
    made = files(flag=[flag("TOKENIZERS_PARALLELISM", "false")])
    assert "TOKENIZERS" not in made["Dockerfile"]
    assert made["image/environment"].endswith("\nTOKENIZERS_PARALLELISM=false\n")


def test_torch_is_held_asserted_and_checked() -> None:
    made = files()
    assert "torch==2.13.0+rocm7.2" in made["python/constraints.txt"].splitlines()
    assert 'PIP_CONSTRAINT="/etc/doctor/constraints.txt"' in made["Dockerfile"]
    assert "assert-torch amd 2.13.0+rocm7.2 7.2" in made["Dockerfile"]
    assert "torch=2.13.0+rocm7.2\nruntime=7.2\n" in made["image/image.conf"]


def test_kernels_of_other_gpus_are_left_out_on_amd() -> None:
    assert "keep-targets.sh gfx942 " in files()["Dockerfile"]
    assert "keep-targets" not in emitted(recipe(nvidia(), None, KB))["Dockerfile"]


def test_keep_targets_keeps_the_target_and_what_names_none(tmp_path: Path) -> None:
    library = tmp_path / "rocblas" / "library"
    library.mkdir(parents=True)
    kept = ["Kernels.so-000-gfx942.hsaco", "TensileManifest.txt", "a_gfx9-4-generic.co"]
    for name in [*kept, "Kernels.so-000-gfx90a.hsaco", "TensileLibrary_gfx1100.dat"]:
        (library / name).touch()
    script = REPO / "doctor/images/context/image/keep-targets.sh"
    subprocess.run(["sh", script, "gfx942", tmp_path, tmp_path / "none"], check=True)
    assert sorted(p.name for p in library.iterdir()) == sorted(kept)


def test_the_doctor_is_a_wheel_beside_the_dockerfile_held_to_its_hash(tmp_path: Path) -> None:
    made = files()
    assert made["doctor/doctor.txt"].endswith(f"/run/doctor/{INNER.file} --hash=sha256:{'e' * 64}\n")
    assert "!doctor" in made[".dockerignore"]
    given = recipe(profile(), None, KB, doctor=INNER)
    wrote(given, tmp_path)
    assert (tmp_path / "doctor" / INNER.file).read_bytes() == b"a wheel"
    assert differences(given, tmp_path) == []
    (tmp_path / "doctor" / INNER.file).write_bytes(b"another")
    assert differences(given, tmp_path) == [f"doctor/{INNER.file} is of another doctor"]
    assert has_doctor(tmp_path)


def test_without_the_doctor_nothing_of_it_is_there(tmp_path: Path) -> None:
    wrote(recipe(profile(), None, KB, doctor=INNER), tmp_path)
    plain = recipe(profile(), locked(recipe(profile(), None, KB)), KB)
    assert plain.unlocked == ()
    wrote(plain, tmp_path)
    assert not list(tmp_path.glob("doctor/*"))  # what was emitted before goes
    assert "/opt/doctor" not in (tmp_path / "Dockerfile").read_text()
    assert "/usr/local/bin/doctor " not in (tmp_path / "Dockerfile").read_text()
    assert not has_doctor(tmp_path)


def test_the_doctors_wheel_holds_the_package_the_profiles_and_a_record_of_both(tmp_path: Path) -> None:
    inner = wheel()
    assert hashlib.sha256(inner.content).hexdigest() == inner.sha256
    with zipfile.ZipFile(io.BytesIO(inner.content)) as held:
        names_ = set(held.namelist())
        record = held.read(next(n for n in names_ if n.endswith("/RECORD"))).decode()
    assert {"doctor/__init__.py", "doctor/_profiles/stacks/cuda13.0.toml"} <= names_
    assert {row.split(",")[0] for row in record.splitlines()} == names_
    assert not any("__pycache__" in name for name in names_)


def test_a_training_image_has_what_rdma_and_compiling_need() -> None:
    train = files(workload="train")["apt/runtime.txt"]
    assert {"ibverbs-providers", "librdmacm1", "g++"} <= set(train.splitlines())
    assert "ibverbs" not in files(workload="serve")["apt/runtime.txt"]


SERVE = {
    "command": ["vllm", "serve", "--port", "8000"],
    "port": 8000,
    "health": "/health",
    "why": "It.",
    "source": SOURCE,
}


def test_a_server_answers_keeps_its_models_and_is_asked_how_it_is() -> None:
    text = files(image={"serve": SERVE})["Dockerfile"]
    assert 'CMD ["vllm", "serve", "--port", "8000"]' in text
    assert "EXPOSE 8000\n" in text
    assert "VOLUME /cache\n" in text
    assert "urlopen('http://127.0.0.1:8000/health', timeout=5)" in text
    assert "/work /cache\n" in text
    plain = files()["Dockerfile"]
    assert 'CMD ["bash"]' in plain
    assert not re.search(r"EXPOSE|VOLUME|HEALTHCHECK", plain)


@each("wrong", [{"command": ["vllm", "$(id)"]}, {"port": 80}, {"health": "/x'); import os"}])
def test_a_server_is_no_shell(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        profile(image={"serve": {**SERVE, **wrong}})


HOSTILE = "a\"; $(touch /x) `id` \\ ${HOME} %{if} 'b' ünïcödé #{x} <<EOF"


def test_prose_of_others_means_itself_in_every_file() -> None:
    made = files(about=HOSTILE, image={"pip": [{**package("torch", "2.13.0", local="rocm7.2"), "why": HOSTILE}]})
    text = made["Dockerfile"]
    label = next(i.text for i in reader.read(text) if i.name == "LABEL")
    assert '"a\\"; \\$(touch /x) `id` \\\\ \\${HOME} %{if} \'b\' ünïcödé #{x} <<EOF"' in label
    for line in text.splitlines():
        assert "touch /x" not in line or line.startswith("#") or "image.description" in line
    assert not any("touch /x" in body for name, body in made.items() if name.endswith((".sh", ".txt", ".conf")))
    assert json.loads(made["record.json"])["profile"]["about"] == HOSTILE


@each(
    "value",
    [
        {"about": "one\nRUN rm -rf /"},
        {"name": "x; id"},
        {"name": "../../etc"},
        {"flag": [flag("A", "1\nRUN id")]},
        {"flag": [flag("A B", "1")]},
        {"flag": [flag("A", "$(id)")]},
        {"flag": [flag("A", '1" B="2')]},
        {"image": {"base": "ubuntu:24.04\nRUN id"}},
        {"image": {"base": "ubuntu:24.04 AS x"}},
        {"image": {"pip": [package("torch; id", "1")]}},
        {"image": {"pip": [package("torch", "1 --index-url=https://x")]}},
        {"image": {"pip": [package("torch", "1", extras=["a]; id"])]}},
        {"image": {"pip": [package("torch", "1", index="https://x.org/$(id)")]}},
        {"image": {"apt": [package("less -o", "1")]}},
        {"image": {"pip": [package("mlc", None)]}},
        {"image": {"pip": [package("torch", None, index="https://x.org/w", links=True)]}},
        {"about": "right\u2028left"},
        {"about": "turn\u202eed"},
    ],
)
def test_values_that_would_be_syntax_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        profile(**value)


def test_a_file_that_is_no_longer_emitted_is_named_and_goes(tmp_path: Path) -> None:
    given = recipe(profile(), None, KB)
    wrote(given, tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    (tmp_path / "record.json").write_text(json.dumps({**record, "files": [*record["files"], "old.txt"]}))
    (tmp_path / "old.txt").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / lockfile.NAME).touch()
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    assert stale(given, tmp_path) == {"old.txt", "notes.txt"}
    assert "Dockerfile differs from line 1" in differences(given, tmp_path)
    wrote(given, tmp_path)
    assert differences(given, tmp_path) == ["notes.txt is no file of this recipe"]  # somebody's own: told, and left
    assert (tmp_path / lockfile.NAME).exists()


def test_what_the_doctor_inside_needs_is_what_the_package_asks_for() -> None:
    text = (REPO / "pyproject.toml").read_text()
    asked = re.search(r"\ndependencies = \[(.*?)\]", text, re.DOTALL)
    assert asked is not None
    rows = re.findall(r'"([A-Za-z-]+)[^"]*"', asked[1])
    assert sorted(rows) == sorted(
        [*DOCTOR_NEEDS, "docker", "tomli"]
    )  # no engine is inside; tomli is of the standard library


def test_sources_are_compiled_for_the_targets_alone_with_jobs_that_memory_allows() -> None:
    flash = package("flash-attn", "2.8.3", compile=True)
    torch = package("torch", "2.14.1")
    base = "nvidia/cuda:13.0.2-devel-ubuntu24.04"
    made = emitted(recipe(nvidia(base=base, pip=[torch, flash]), None, KB))
    assert "FLASH_ATTN_CUDA_ARCHS='90' sh /run/python/compile.sh /opt/venv/bin/python 9 " in made["Dockerfile"]
    assert "flash-attn==2.8.3" in made["python/compiled-flash-attn.txt"]
    assert "flash-attn" not in made["python/requirements.txt"]
    assert "MAX_JOBS" in made["python/compile.sh"]
    needs = made["python/requirements.txt"].splitlines()
    assert {"ninja", "packaging", "setuptools", "wheel", "einops"} <= set(needs)  # what its setup.py imports
    assert not any(need.startswith("nvidia-cuda-nvcc") for need in needs)  # the base has one


def test_without_a_compiler_in_the_base_nvcc_comes_from_its_wheels() -> None:
    torch, te = package("torch", "2.15.0"), package("transformer-engine-torch", "2.20.2", compile=True)
    made = emitted(recipe(nvidia("13.2", pip=[torch, te]), None, KB))
    assert {"nvidia-cuda-nvcc==13.2.*", "nvidia-nvvm==13.2.*"} <= set(made["python/requirements.txt"].splitlines())
    assert "NVTE_PYTORCH_FORCE_BUILD='TRUE'" in made["Dockerfile"]  # or its setup.py downloads a wheel without a hash
    with pytest.raises(InputError, match="has no compiler of GPU code; a base such as nvidia/cuda"):
        recipe(nvidia(pip=[torch, te]), None, KB)


def test_builds_of_the_night_come_from_their_page_alone_once_they_are_locked() -> None:
    mlc = package("mlc-llm-nightly-cu130", None, index="https://mlc.ai/wheels", links=True)
    open_ = recipe(nvidia(pip=[package("torch", "2.14.1"), mlc]), None, KB)
    made = emitted(open_)
    assert made["python/requirements.wheels.txt"].endswith(
        "--find-links https://mlc.ai/wheels\nmlc-llm-nightly-cu130>=0.dev0\n"
    )
    assert "mlc" not in made["python/constraints.txt"]
    lock = locked(open_)
    file = "mlc_llm_nightly_cu130-0.20.dev9-cp312-cp312-manylinux_2_28_x86_64.whl"
    night = Wheel(name=mlc["name"], version="0.20.dev9", file=file, sha256="d" * 64, index=mlc["index"])
    stack = WheelLock(asked=open_.stack_asked, python="3.12", glibc="2.39", wheels=(night,))
    found = emitted(recipe(open_.profile, lock.model_copy(update={"stack": stack}), KB))
    head = "--find-links https://mlc.ai/wheels\n--require-hashes\nmlc-llm-nightly-cu130==0.20.dev9"
    assert head in found["python/requirements.wheels.txt"]


def test_times_of_a_lock_of_debian_sid_come_from_its_archive_alone() -> None:
    base = base_of("debian:sid")
    assert base is not None
    assert base.sources("20261115T000000Z").splitlines() == [
        "deb [check-valid-until=no] http://snapshot.debian.org/archive/debian/20261115T000000Z sid main"
    ]
