"""The user's Python, by files. The version files are in the words of the wheels of each release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet, assemble
from doctor.probes.python import python_env
from tests.probes.pretend import Pretend, values

GIT = "a8d6afb511a69687bbb2b7e88a3cf67917e1697e"
NEW = "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"


def old(version: str, cuda: str, hip: str) -> str:
    return f"__version__ = '{version}'\ndebug = False\ncuda = {cuda}\ngit_version = '{GIT}'\nhip = {hip}\n"


def new(version: str, cuda: str, hip: str, xpu: str) -> str:
    typed = f"cuda: Optional[str] = {cuda}\ngit_version = '{GIT}'\nhip: Optional[str] = {hip}\n"
    return f"{NEW}__version__ = '{version}'\ndebug = False\n{typed}xpu: Optional[str] = {xpu}\n"


def venv(at: str, version_file: str | None = None, *packages: str) -> dict[str, str]:
    site = f"{at}/lib/python3.11/site-packages"
    files = {f"{at}/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.7\n", f"{at}/bin/python3": "\x7fELF"}
    files |= {f"{site}/{p}.dist-info/METADATA": "" for p in packages} | {f"{site}/README": ""}
    return files | ({f"{site}/torch/version.py": version_file} if version_file else {})


def probed(root: Path, files: dict[str, str], python: str | None = None, **environ: str) -> dict[str, Any]:
    sheet = FactSheet()
    python_env.probe(Pretend(root, files, environ), sheet, python)
    assemble([sheet])
    return values(sheet)


@pytest.mark.parametrize(
    ("text", "build", "cuda", "rocm"),
    [
        (old("1.13.1+cu117", "'11.7'", "None"), "cuda", "11.7", None),
        (new("2.1.0+cu121", "'12.1'", "None", "None"), "cuda", "12.1", None),
        (new("2.5.1+rocm6.2", "None", "'6.2.41133-dd7f95766'", "None"), "rocm", None, "6.2"),
        (new("2.8.0+cpu", "None", "None", "None"), "cpu", None, None),
        (new("2.9.0+xpu", "None", "None", "'20250201'"), "xpu", None, None),
    ],
)
def test_what_torch_was_built_for(tmp_path: Path, text: str, build: str, cuda: str | None, rocm: str | None) -> None:
    found = probed(tmp_path, venv("home/a/env", text), VIRTUAL_ENV="/home/a/env")
    assert (found["torch.build"], found["torch.cuda"], found.get("torch.rocm")) == (build, cuda, rocm)
    assert found["torch.installed"] is True


def test_packages_are_named_by_their_folders(tmp_path: Path) -> None:
    found = probed(tmp_path, venv("env", None, "vllm-0.9.1", "nvidia_nccl_cu12-2.27.3"), VIRTUAL_ENV="/env")
    assert [(p["name"], p["version"]) for p in found["packages"]] == [("nvidia-nccl-cu12", "2.27.3"), ("vllm", "0.9.1")]
    assert found["torch.installed"] is False
    assert found["interpreter.version"] == "3.11.7"


def test_the_doctors_own_environment_is_passed_over_unless_torch_is_in_it(tmp_path: Path) -> None:
    files = venv("opt/doctor") | venv("home/a/env")
    assert probed(tmp_path, files, VIRTUAL_ENV="/opt/doctor", PATH="/home/a/env/bin")["interpreter.chosen_by"] == "PATH"
    assert probed(tmp_path, files, "/opt/doctor/bin/python3")["interpreter.prefix"] == "/opt/doctor"
    files = venv("opt/doctor", old("1.13.1+cu117", "'11.7'", "None"))
    assert probed(tmp_path, files, VIRTUAL_ENV="/opt/doctor")["torch.installed"] is True


def test_no_python_is_unknown_not_absent(tmp_path: Path) -> None:
    assert probed(tmp_path, {"etc/x": ""}, PATH="/usr/bin")["torch.installed"] is None


def test_rocm_archs_come_from_the_names_of_its_kernels(tmp_path: Path) -> None:
    files = venv("env", new("2.5.1+rocm6.2", "None", "'6.2.41133'", "None"))
    lib = "env/lib/python3.11/site-packages/torch/lib/rocblas/library"
    files |= {f"{lib}/TensileLibrary_lazy_{gfx}.dat": "" for gfx in ("gfx90a", "gfx942")}
    assert probed(tmp_path, files, VIRTUAL_ENV="/env")["torch.arch_list"] == ["gfx90a", "gfx942"]


def test_conda_names_packages_that_pip_does_not(tmp_path: Path) -> None:
    files = venv("opt/conda", None, "torch-2.5.1") | {
        "opt/conda/conda-meta/pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json": "{}",
        "opt/conda/conda-meta/cuda-version-12.4-hbda6634_3.json": "{}",
        "opt/conda/conda-meta/history": "",
    }
    del files["opt/conda/pyvenv.cfg"]
    found = probed(tmp_path, files, CONDA_PREFIX="/opt/conda")
    assert {(p["name"], p["version"]) for p in found["packages"]} == {
        ("torch", "2.5.1"), ("pytorch", "2.5.1"), ("cuda-version", "12.4"),
    }  # fmt: skip
    assert found["interpreter.chosen_by"] == "CONDA_PREFIX"


def test_packages_of_the_user_s_own_folder(tmp_path: Path) -> None:
    files = {
        "usr/bin/python3.11": "\x7fELF",
        "usr/lib/python3.11/os.py": "",
        "usr/lib/python3/dist-packages/numpy-1.24.2.dist-info/METADATA": "",
        "home/al/.local/lib/python3.11/site-packages/numpy-2.1.0.dist-info/METADATA": "",
    }
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").symlink_to("python3.11")
    found = probed(tmp_path, files, PATH="/usr/bin", HOME="/home/al")
    assert [(p["version"], p["location"]) for p in found["packages"]] == [
        ("2.1.0", "/home/al/.local/lib/python3.11/site-packages"),
        ("1.24.2", "/usr/lib/python3/dist-packages"),
    ]
    found = probed(tmp_path, files, PATH="/usr/bin", HOME="/home/al", PYTHONNOUSERSITE="1")
    assert [p["version"] for p in found["packages"]] == ["1.24.2"]


def test_a_python_that_refuses_pip(tmp_path: Path) -> None:
    files = {f"usr/bin/python3.{n}": "\x7fELF" for n in (12, 13)} | {"usr/lib64/python3.13/os.py": ""}
    files["usr/lib/python3.13/site-packages/README"] = ""  # Fedora's two folders
    files |= {"usr/lib/python3.12/os.py": "", "usr/lib/python3.12/EXTERNALLY-MANAGED": "[externally-managed]\n"}
    refuses = [probed(tmp_path, files, f"/usr/bin/python3.{n}")["interpreter.externally_managed"] for n in (12, 13)]
    assert refuses == [True, False]
    on_top = venv("env") | {"usr/lib/python3.11/EXTERNALLY-MANAGED": ""}
    assert "interpreter.externally_managed" not in probed(tmp_path, on_top, VIRTUAL_ENV="/env")


def test_the_last_of_ten_thousand_packages_is_there_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that ends early says that vllm is not installed."""
    system = Pretend(tmp_path, venv("env", None, "vllm-0.9.1"), {"VIRTUAL_ENV": "/env"})
    listed = system.list_dir

    def more(path: str, **asked: Any) -> Any:
        reading = listed(path, **asked)
        if not path.endswith("site-packages"):
            return reading
        return replace(reading, value=(*(f"pkg{n}-1.0.dist-info" for n in range(10_000)), *(reading.value or ())))

    monkeypatch.setattr(system, "list_dir", more)
    monkeypatch.setattr("doctor.probes.lib.python_metadata.add", lambda *_: None)
    sheet = FactSheet()
    python_env.probe(system, sheet)
    assert (len(values(sheet)["packages"]), values(sheet)["packages"][-1]["name"]) == (10_001, "vllm")


def test_behind_pyenv_a_named_python_is_that_one_alone(tmp_path: Path) -> None:
    files = {"pyenv/version": "3.11.7\n", "pyenv/shims/python": "#!/bin/sh\n"}
    files |= {f"pyenv/versions/3.11.7/bin/{name}": "\x7fELF" for name in ("python", "python3.11")}
    files |= {"pyenv/versions/3.11.7/lib/python3.11/site-packages/README": ""}
    assert probed(tmp_path, files, "python3.11", PATH="/pyenv/shims")["interpreter.path"].endswith("/bin/python3.11")
    assert probed(tmp_path, files, "python3.12", PATH="/pyenv/shims")["interpreter.path"] is None
