"""Debian's own ROCm, as apt put it into an image: found by the doctor that runs there, with what selects it."""

from __future__ import annotations

import pytest

from tests.docker.conftest import Container
from tests.docker.test_containers import report

pytestmark = pytest.mark.engine


def test_debian_s_rocm_is_found_with_its_package_and_its_libraries(container: Container) -> None:
    snapshot = report(container)["snapshot"]
    (found,) = snapshot["rocm"]
    assert (found["path"], found["kind"], found["version"]) == ("/usr", "distribution", "5.2.3")
    assert found["package"].startswith("libamdhip64-5 5.2.3-")
    assert found["components"]["hip"].startswith("5.2.")
    assert found["selected_by"] == ["default folders"]
    chosen = {c["key"]: c for c in snapshot["loader"]}
    assert chosen["libamdhip64.so.5"]["by"] == "ld.so.cache"


def test_ld_library_path_that_leads_elsewhere_is_what_the_loader_takes(container: Container) -> None:
    """The folder holds the same libraries under another path, as a second ROCm would."""
    flags = ("-e", "LD_LIBRARY_PATH=/lib/x86_64-linux-gnu")
    chosen = {c["key"]: c for c in report(container, *flags)["snapshot"]["loader"]}
    assert chosen["libamdhip64.so.5"]["by"] == "LD_LIBRARY_PATH"
