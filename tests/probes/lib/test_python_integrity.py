"""Installed packages against their RECORD: real files in a folder, one fault each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import FactSheet
from doctor.facts.origin import State
from doctor.probes.python import python_env
from doctor.system.base import NO_FILE, Reading
from tests.parsers import binaries
from tests.probes.pretend import Pretend

SITE = "env/lib/python3.11/site-packages"
ELF = "\x7fELF"


def environment(**changed: str | None) -> dict[str, str]:
    """A torch of three files that fit their RECORD; `changed`: name → content, None where the file is gone."""
    files: dict[str, str | None] = {
        "torch/__init__.py": "import os\n",
        "torch/version.py": "__version__ = '2.9.1'\ncuda = None\nhip = None\n",
        "torch/_C.cpython-311-x86_64-linux-gnu.so": ELF,
        "torch/nn/modules.py": "x = 1\n",
        "torch/include/ATen.h": "#\n",
    }
    record = "".join(f"{path},sha256=abc,{len(text or '')}\n" for path, text in files.items())
    files |= {path.replace("__dot__", "."): text for path, text in changed.items()}
    rows = {f"{SITE}/{path}": text for path, text in files.items() if text is not None}
    rows |= {"env/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.7\n", "env/bin/python3": ELF}
    return {**rows, f"{SITE}/torch-2.9.1.dist-info/RECORD": record}


def found(root: Path, files: dict[str, str], **environ: str) -> list[tuple[str, list[str]]] | None:
    sheet = FactSheet()
    python_env.probe(Pretend(root, files, {"VIRTUAL_ENV": "/env", **environ}), sheet)
    faults = sheet.get("installed_faults")
    return None if faults is None else [(f["kind"], [path.rpartition("/")[2] for path in f["files"]]) for f in faults]


def test_what_is_whole_has_no_fault(tmp_path: Path) -> None:
    assert found(tmp_path, environment()) == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, environment(**{"torch/nn/modules.py": None})) == [("missing", ["modules.py"])]


def test_an_empty_init_may_be_missing(tmp_path: Path) -> None:
    files = environment(**{"torch/nn/__init__.py": ""})
    path = f"{SITE}/torch-2.9.1.dist-info/RECORD"
    files[path] += "torch/nn/__init__.py,sha256=abc,0\n"
    del files[f"{SITE}/torch/nn/__init__.py"]
    assert found(tmp_path, files) == []


def test_two_packages_that_install_the_same_library(tmp_path: Path) -> None:
    files = environment(**{"nvidia/lib/libx.so": ELF})
    for name, size in (("nvidia-x-cu12", len(ELF)), ("nvidia-x-cu13", 9)):
        files[f"{SITE}/{name.replace('-', '_')}-1.dist-info/RECORD"] = f"nvidia/lib/libx.so,sha256=abc,{size}\n"
    assert ("shared", ["libx.so"]) in (found(tmp_path, files) or [])
    record = f"{SITE}/nvidia_x_cu13-1.dist-info/RECORD"
    same = {**files, record: files[record].replace(",9", f",{len(ELF)}")}
    assert found(tmp_path, same) == []


def test_headers_may_be_deleted(tmp_path: Path) -> None:
    assert found(tmp_path, environment(**{"torch/include/ATen.h": None})) == []


def test_an_empty_file_is_cut(tmp_path: Path) -> None:
    assert found(tmp_path, environment(**{"torch/__init__.py": ""})) == [("cut", ["__init__.py"])]


def test_a_file_edited_by_hand_is_whole(tmp_path: Path) -> None:
    assert found(tmp_path, environment(**{"torch/nn/modules.py": "x = 1  # patched\n"})) == []


def test_a_library_that_is_no_elf_file_is_cut(tmp_path: Path) -> None:
    name = "torch/_C.cpython-311-x86_64-linux-gnu.so"
    assert found(tmp_path, environment(**{name: "not half of it"})) == [("cut", ["_C.cpython-311-x86_64-linux-gnu.so"])]


def test_a_library_whose_blocks_were_never_written_is_cut(tmp_path: Path) -> None:
    name = "torch/_C.cpython-311-x86_64-linux-gnu.so"
    zeros = environment(**{name: "\0" * len(ELF)})
    assert found(tmp_path, zeros) == [("cut", ["_C.cpython-311-x86_64-linux-gnu.so"])]


def test_modules_of_another_python(tmp_path: Path) -> None:
    files = {path.replace("3.11", "3.12"): text.replace("3.11", "3.12") for path, text in environment().items()}
    assert found(tmp_path, files) == [("other-python", ["_C.cpython-311-x86_64-linux-gnu.so"])]


@pytest.mark.parametrize(("machine", "kind"), [(62, "changed"), (183, "other-python")])
def test_a_whole_library_of_another_size(tmp_path: Path, machine: int, kind: str) -> None:
    found(tmp_path, environment())
    for path, number in ((f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so", machine), ("env/bin/python3", 62)):
        (tmp_path / path).write_bytes(binaries.elf([(".text", b"code")], soname="x", machine=number))
    sheet = FactSheet()
    python_env.probe(Pretend(tmp_path, {}, {"VIRTUAL_ENV": "/env"}), sheet)
    assert [f["kind"] for f in sheet.get("installed_faults") or ()] == [kind]


def test_an_interpreter_that_was_named_and_leads_nowhere(tmp_path: Path) -> None:
    pretend = Pretend(tmp_path, environment(), {})
    (tmp_path / "env/bin/python3").unlink()
    (tmp_path / "env/bin/python3").symlink_to("python3.11")
    (tmp_path / "env/bin/python3.11").symlink_to("/gone/python3.11")
    sheet = FactSheet()
    python_env.probe(pretend, sheet, "/env/bin/python3")
    assert sheet.get("interpreter.broken") == "/env/bin/python3 leads to /gone/python3.11, which is not there"


def test_a_folder_before_it_without_its_modules_hides_it(tmp_path: Path) -> None:
    files = environment() | {"src/torch/__init__.py": ""}
    assert found(tmp_path, files, PYTHONPATH="/src") == [("hidden", ["torch"])]


def test_a_small_package_of_that_name_hides_one_without_compiled_modules(tmp_path: Path) -> None:
    files = environment()
    parts = ("core", "sets", "series", "plotting")
    names = ["sympy/__init__.py", *(f"sympy/{part}/__init__.py" for part in parts)]
    files |= {f"{SITE}/{name}": "x = 1" for name in names}
    files[f"{SITE}/sympy-1.dist-info/RECORD"] = "".join(f"{name},sha256=abc,5\n" for name in names)
    requires = "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\nRequires-Dist: sympy\n"
    files[f"{SITE}/torch-2.9.1.dist-info/METADATA"] = requires
    files[f"{SITE}/sympy-1.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: sympy\nVersion: 1\n"
    assert found(tmp_path, files | {"src/sympy/__init__.py": ""}, PYTHONPATH="/src") == [("hidden", ["sympy"])]
    whole = {name.replace("sympy/", "own/sympy/", 1): "" for name in names}
    assert found(tmp_path, files | whole, PYTHONPATH="/own") == []


def test_an_environment_from_which_nothing_may_be_loaded(tmp_path: Path) -> None:
    said = []
    for options in ("rw,noexec", "rw"):
        mounts = f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /env {options} - tmpfs tmpfs rw\n"
        sheet = FactSheet()
        files = environment() | {"proc/self/mountinfo": mounts}
        python_env.probe(Pretend(tmp_path, files, {"VIRTUAL_ENV": "/env"}), sheet)
        said.append(sheet.get("interpreter.broken"))
    assert said == ["/env is on /env, which is mounted with noexec: no library loads from it", ""]


def test_a_folder_before_it_without_init_hides_nothing(tmp_path: Path) -> None:
    files = environment() | {"src/torch/model.pt": ""}
    assert found(tmp_path, files, PYTHONPATH="/src") == []


def test_a_script_of_its_name_in_the_working_directory(tmp_path: Path) -> None:
    assert found(tmp_path, environment() | {"work/torch.py": ""}, PWD="/work") == [("hidden", ["torch.py"])]


def test_what_was_not_looked_at_in_time_is_not_known(tmp_path: Path) -> None:
    class Slow(Pretend):
        def sizes(self, paths: Any, *, deadline_s: float) -> Reading[tuple[int, ...]]:
            return super().sizes(paths[:1], deadline_s=deadline_s)

    sheet = FactSheet()
    python_env.probe(Slow(tmp_path, environment(), {"VIRTUAL_ENV": "/env"}), sheet)
    entry = next(e for e in sheet if e.name == "installed_faults")
    assert (entry.value, entry.state, entry.detail) == (
        None,
        State.TIMED_OUT,
        "not looked at, refused or too slow: torch",
    )


def test_what_may_not_be_looked_at_is_not_known(tmp_path: Path) -> None:
    class Closed(Pretend):
        def sizes(self, paths: Any, *, deadline_s: float) -> Reading[tuple[int, ...]]:
            return Reading(State.VALUE, "files", tuple(NO_FILE for _ in paths))

    sheet = FactSheet()
    python_env.probe(Closed(tmp_path, environment(), {"VIRTUAL_ENV": "/env"}), sheet)
    assert sheet.get("installed_faults") is None


def test_a_folder_in_a_library_s_place_is_no_file(tmp_path: Path) -> None:
    name = "torch/_C.cpython-311-x86_64-linux-gnu.so"
    files = environment(**{name: None}) | {f"{SITE}/{name}/x": ""}
    assert found(tmp_path, files) == [("missing", ["_C.cpython-311-x86_64-linux-gnu.so"])]


def test_conda_says_which_size_its_files_have(tmp_path: Path) -> None:
    files = environment()
    name = f"lib/python3.11/site-packages/{'torch/_C.cpython-311-x86_64-linux-gnu.so'}"
    rows = [{"_path": name, "path_type": "hardlink", "size_in_bytes": 4}]
    files["env/conda-meta/pytorch-2.9.1-py3.11_0.json"] = json.dumps({"paths_data": {"paths": rows}})
    files[f"{SITE}/torch-2.9.1.dist-info/RECORD"] = f"{name},sha256=abc,99\n"
    assert found(tmp_path, files) == []


def test_an_environment_whose_python_is_gone(tmp_path: Path) -> None:
    files = environment()
    del files["env/bin/python3"]
    sheet = FactSheet()
    python_env.probe(Pretend(tmp_path, files, {"VIRTUAL_ENV": "/env"}), sheet)
    assert sheet.get("interpreter.broken") == "/env holds no interpreter"


def test_a_module_of_the_standard_library_in_the_working_directory(tmp_path: Path) -> None:
    assert found(tmp_path, environment() | {"work/random.py": ""}, PWD="/work") == [("hidden", ["random.py"])]


def test_data_named_like_a_module_hides_nothing(tmp_path: Path) -> None:
    files = environment() | {"work/random/numbers.csv": "", "work/train.py": "", "work/test/__init__.py": ""}
    assert found(tmp_path, files, PWD="/work") == []


def test_a_standard_library_on_pythonpath_hides_nothing(tmp_path: Path) -> None:
    files = environment() | {f"py/{name}": "" for name in ("os.py", "site.py", "random.py")}
    assert found(tmp_path, files, PYTHONPATH="/py") == []


def typing_beside(**more: str | None) -> dict[str, str]:
    """torch imports three names from a module of one file, at once."""
    start = "import os\nfrom typing_extensions import (\n    ParamSpec as _ParamSpec,  # one\n    TypeIs,\n)\n"
    kept = environment() | {f"{SITE}/typing_extensions.py": "ParamSpec = TypeIs = 1\n"}
    kept |= {f"{SITE}/typing_extensions-4.16.0.dist-info/RECORD": ""}
    record = kept[f"{SITE}/torch-2.9.1.dist-info/RECORD"].replace("init__.py,sha256=abc,10", f"init__.py,,{len(start)}")
    kept |= {f"{SITE}/torch/__init__.py": start, f"{SITE}/torch-2.9.1.dist-info/RECORD": record}
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\nRequires-Dist: typing-extensions>=4.10.0\n"
    kept[f"{SITE}/torch-2.9.1.dist-info/METADATA"] = metadata
    changed = {path.replace("SITE", SITE): text for path, text in more.items()}
    return {path: text for path, text in (kept | changed).items() if text is not None}


def test_an_old_copy_of_a_module_that_torch_imports(tmp_path: Path) -> None:
    files = typing_beside(**{"old/typing_extensions.py": "ParamSpec = 1\n"})
    assert found(tmp_path, files, PYTHONPATH="/old") == [("hidden", ["typing_extensions.py"])]


def test_a_copy_with_all_names_is_as_good(tmp_path: Path) -> None:
    files = typing_beside(**{"new/typing_extensions.py": "ParamSpec = TypeIs = 2\n"})
    assert found(tmp_path, files, PYTHONPATH="/new") == []


WITHOUT_TYPING = {"SITE/typing_extensions.py": None, "SITE/typing_extensions-4.16.0.dist-info/RECORD": None}


def test_what_torch_imports_at_once_is_not_installed(tmp_path: Path) -> None:
    assert found(tmp_path, typing_beside(**WITHOUT_TYPING)) == [("not-installed", ["__init__.py"])]


def test_what_torch_may_never_use_is_not_installed(tmp_path: Path) -> None:
    files = typing_beside()
    files[f"{SITE}/torch-2.9.1.dist-info/METADATA"] += "Requires-Dist: jinja2\nRequires-Dist: x; python_version<'3'\n"
    assert found(tmp_path, files) == [("not-installed", [])]


def test_a_module_without_metadata_is_there(tmp_path: Path) -> None:
    files = typing_beside(**{"SITE/typing_extensions-4.16.0.dist-info/RECORD": None})
    assert found(tmp_path, files) == []


def test_a_pth_file_leads_to_where_it_is(tmp_path: Path) -> None:
    files = typing_beside(**WITHOUT_TYPING, **{"SITE/more.pth": "/more\n", "more/typing_extensions.py": ""})
    assert found(tmp_path, files) == []


def test_a_version_file_of_another_release(tmp_path: Path) -> None:
    old = "__version__ = '2.4.0'\ncuda = None\nhip = None\n"
    assert found(tmp_path, environment(**{"torch/version.py": old})) == [("mixed", ["version.py"])]


def test_a_wheel_whose_own_version_file_is_wrong_is_whole(tmp_path: Path) -> None:
    files = environment()
    older = files[f"{SITE}/torch-2.9.1.dist-info/RECORD"].replace("sha256=abc", "")
    files[f"{SITE}/torch-2.9.2.dist-info/RECORD"] = older
    del files[f"{SITE}/torch-2.9.1.dist-info/RECORD"]
    assert found(tmp_path, files) == []


def test_an_environment_without_pyvenv_cfg(tmp_path: Path) -> None:
    files = environment()
    del files["env/pyvenv.cfg"]
    (tmp_path / "env/lib/python3.11/site-packages").mkdir(parents=True)
    sheet = FactSheet()
    python_env.probe(Pretend(tmp_path, files, {"VIRTUAL_ENV": "/env"}), sheet)
    assert "pyvenv.cfg is not there" in (sheet.get("interpreter.broken") or "")


def test_a_python_with_its_own_standard_library_needs_no_pyvenv_cfg(tmp_path: Path) -> None:
    files = environment() | {"env/lib/python3.11/os.py": ""}
    del files["env/pyvenv.cfg"]
    sheet = FactSheet()
    python_env.probe(Pretend(tmp_path, files, {"VIRTUAL_ENV": "/env"}), sheet)
    assert sheet.get("interpreter.broken") == ""


def test_modules_for_musl_under_glibc(tmp_path: Path) -> None:
    record = f"{SITE}/torch-2.9.1.dist-info/RECORD"
    files = {path.replace("linux-gnu", "linux-musl"): text for path, text in environment().items()}
    files[record] = files[record].replace("linux-gnu", "linux-musl")
    assert found(tmp_path, files) == []  # the interpreter here is no program that says what it needs
    (tmp_path / "env/bin").mkdir(parents=True, exist_ok=True)
    files.pop("env/bin/python3")
    (tmp_path / "env/bin/python3").write_bytes(binaries.elf(needed=("libc.so.6",)))
    assert found(tmp_path, files) == [("other-python", ["_C.cpython-311-x86_64-linux-musl.so"])]


def test_an_editable_install_without_its_sources(tmp_path: Path) -> None:
    finder = "MAPPING: dict[str, str] = {'torchvision': '/src/vision/torchvision'}\n"
    name = "__editable___torchvision_finder.py"
    record = f"{name},sha256=abc,{len(finder)}\n"
    files = environment(**{name: finder, "torchvision-0.24.1.dist-info/RECORD": record})
    assert found(tmp_path, files) == []  # the tree shows nothing of /src
    files["src/notes.txt"] = ""
    assert found(tmp_path, files) == [("missing", ["torchvision"])]
    assert found(tmp_path, files | {"src/vision/torchvision/__init__.py": ""}) == []


def test_what_a_required_package_requires_and_imports(tmp_path: Path) -> None:
    def metadata(name: str, requires: str) -> str:
        return f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\nRequires-Dist: {requires}\n"

    files = environment(**{
        "torch-2.9.1.dist-info/METADATA": metadata("torch", "sympy"),
        "sympy/__init__.py": "try:\n    import mpmath\nexcept ImportError:\n    raise\n",
        "sympy-1.dist-info/METADATA": metadata("sympy", "mpmath"),
    })  # fmt: skip
    assert found(tmp_path, files) == [("not-installed", [])]
    files[f"{SITE}/sympy/__init__.py"] = ""  # it may go without
    assert found(tmp_path, files) == []


def test_pythonhome_of_another_python(tmp_path: Path) -> None:
    files = environment() | {"usr/lib/python3.11/os.py": "", "opt/other/lib/python3.11/os.py": ""}
    said = {}
    for home in ("/usr", "/opt/other", "/opt/none"):
        sheet = FactSheet()
        python_env.probe(Pretend(tmp_path, files, {"VIRTUAL_ENV": "/env", "PYTHONHOME": home}), sheet)
        said[home] = sheet.get("interpreter.broken")
    assert said["/usr"] == ""
    assert said["/opt/other"] == "PYTHONHOME=/opt/other is another Python's standard library"
    assert "holds no standard library" in said["/opt/none"]


def test_a_wheel_for_all_pythons_may_hold_a_module_of_one(tmp_path: Path) -> None:
    files = environment(**{"torchao/_C.abi3.so": ELF, "torchao/x.cpython-39-x86_64-linux-gnu.so": ELF})
    names = [path for path in files if "/torchao/" in path]
    record = "".join(f"{path.removeprefix(f'{SITE}/')},sha256=abc,{len(ELF)}\n" for path in names)
    assert found(tmp_path, {**files, f"{SITE}/torchao-1.dist-info/RECORD": record}) == []


@pytest.mark.parametrize(("mode", "kinds"), [(0o644, ["not-executable"]), (0o755, [])])
def test_a_program_without_its_execute_bit(tmp_path: Path, mode: int, kinds: list[str]) -> None:
    program = "triton/backends/nvidia/bin/ptxas"
    files = {**environment(**{program: ELF}), f"{SITE}/triton-3.dist-info/RECORD": f"{program},sha256=abc,{len(ELF)}\n"}
    found(tmp_path, files)
    (tmp_path / SITE / program).chmod(mode)
    assert [kind for kind, _ in found(tmp_path, {}) or ()] == kinds


def test_a_folder_that_an_uninstall_left_is_no_module(tmp_path: Path) -> None:
    files = environment(**{"filelock/__pycache__/x.pyc": ""})
    files[f"{SITE}/torch-2.9.1.dist-info/METADATA"] = (
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\nRequires-Dist: filelock\n"
    )
    assert found(tmp_path, files) == [("not-installed", [])]
    assert found(tmp_path, {**files, f"{SITE}/filelock/api.py": ""}) == []
