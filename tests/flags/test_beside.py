"""NCCL's own files and the libraries that LD_PRELOAD names, as they lie on a machine."""

from __future__ import annotations

from pathlib import Path

from doctor.flags import beside, lint
from doctor.flags.situation import Situation
from doctor.system.tree import TreeSystem


def tree(tmp_path: Path, **files: str) -> TreeSystem:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return TreeSystem(tmp_path)


def test_nccls_files_count_for_names_that_are_not_set(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.nccl.conf").write_text("# NCCL_ALGO=x\nNCCL_P2P_DISABLE=true\nNCCL_DEBUG=INFO\n")
    system = tree(tmp_path, **{"etc__nccl.conf": "NCCL_DEBUG=WARN\r\nNCCL_IB_HCA=mlx5\r\n"})
    env = {"HOME": "/home", "NCCL_IB_HCA": "=mlx5_0"}
    found = beside.look(system, env)
    assert found.env == {"NCCL_P2P_DISABLE": "true", "NCCL_DEBUG": "INFO"}
    assert found.places["NCCL_P2P_DISABLE"] == "/home/.nccl.conf:2"
    (hidden,) = found.findings
    assert hidden.severity.value == "info"
    (misread,) = [
        f for f in lint.findings(Situation({**found.env, **env}), found.places) if f.severity.value == "error"
    ]
    assert misread.evidence[0].source == "/home/.nccl.conf:2"


def test_the_file_that_is_named_stands_for_that_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.nccl.conf").write_text("NCCL_DEBUG=INFO\n")
    system = tree(tmp_path, **{"a.conf": "NCCL_ALGO=Ring\n"})
    assert beside.look(system, {"HOME": "/home", "NCCL_CONF_FILE": "/a.conf"}).env == {"NCCL_ALGO": "Ring"}


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    system = tree(tmp_path, **{"usr__lib__libtcmalloc.so.4": "x"})
    there, gone = "/usr/lib/libtcmalloc.so.4", "/usr/lib/libjemalloc.so.2"
    (finding,) = beside.look(system, {"LD_PRELOAD": f"{there}:{gone}"}).findings
    assert gone in finding.summary
    assert beside.look(system, {"LD_PRELOAD": f"{there} libm.so.6 $ORIGIN/x.so"}).findings == ()
    assert beside.look(system, {}).findings == ()


def test_rccls_files_are_read_for_amd(tmp_path: Path) -> None:
    system = tree(tmp_path, **{"etc__rccl.conf": "NCCL_IB_TC=104\n", "etc__nccl.conf": "NCCL_IB_TC=8\n"})
    assert beside.look(system, {}, ("amd",)).env == {"NCCL_IB_TC": "104"}
    assert beside.look(system, {}, ("nvidia",)).env == {"NCCL_IB_TC": "8"}
