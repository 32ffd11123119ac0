"""Rules on what is installed and what selects it."""

from __future__ import annotations

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.driver import amd_gpu_unsupported_by_rocm
from doctor.rules.python import rocm_path_broken, torch_rocm_version_mismatch
from tests.rules.machines import Facts, mi300x_host, rx7900_desktop

KB = Knowledge()


def rocm(path: str, version: str, kind: str = "prefix", *selected_by: str) -> Facts:
    name = f"rocm[{path}]"
    values = {"path": path, "version": version, "kind": kind, "selected_by": list(selected_by)}
    return {"rocm": None} | {f"{name}.{field}": value for field, value in values.items()}


def test_another_rocm_counts_only_where_the_loader_is_led_to_it() -> None:
    led = mi300x_host({"torch.rocm": "7.0"} | rocm("/opt/rocm-5.7.0", "5.7.0", "prefix", "LD_LIBRARY_PATH"))
    aside = mi300x_host({"torch.rocm": "7.0"} | rocm("/opt/rocm-5.7.0", "5.7.0", "prefix", "PATH (hipcc)"))
    assert [f.severity.value for f in torch_rocm_version_mismatch.check(led, KB, None)] == ["warning"]
    assert not list(torch_rocm_version_mismatch.check(aside, KB, None))
    assert not list(torch_rocm_version_mismatch.check(mi300x_host({"torch.rocm": "7.0", "rocm": None}), KB, None))


def test_a_distribution_builds_rocm_for_more_gpus_than_amd_lists() -> None:
    old = {"gpus[0000:03:00.0].arch": "gfx1103"}
    assert list(amd_gpu_unsupported_by_rocm.check(rx7900_desktop(old | rocm("/opt/rocm-6.0.0", "6.0.0")), KB, None))
    ours = rx7900_desktop(old | rocm("/usr", "6.0.0", "distribution"))
    assert not list(amd_gpu_unsupported_by_rocm.check(ours, KB, None))


@pytest.mark.parametrize(
    ("value", "selected_by", "fires"),
    [("/opt/rocm-5.4.0", (), True), ("/opt/rocm-6.4.1", (), False), ("/opt/rocm-current", ("ROCM_PATH",), False)],
)
def test_a_variable_that_names_a_rocm_which_is_not_there(value: str, selected_by: tuple[str, ...], fires: bool) -> None:
    facts = rocm("/opt/rocm-6.4.1", "6.4.1", "prefix", *selected_by) | {"environment": {"ROCM_PATH": value}}
    assert bool(list(rocm_path_broken.check(mi300x_host(facts), KB, None))) is fires
