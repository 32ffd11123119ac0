"""secure-boot-blocks-module: the log's word, or all signs of it."""

from __future__ import annotations

from doctor.rules.driver import secure_boot_blocks_module as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RTX4090}]"
UNLOADED = {"nvidia_driver.loaded": False, f"{GPU}.driver": "none", "kernel.secure_boot": True}


def test_the_key_was_rejected() -> None:
    (finding,) = found(rule, machines.rtx4090_desktop(UNLOADED | machines.event("module-key-rejected")))
    assert finding.summary == "Secure Boot blocks nvidia: no trusted key signed it."
    assert argvs(finding)[0] == ("mokutil", "--import", "/etc/pki/akmods/certs/public_key.der")
    assert "nvidia-driver-not-loaded" in rule.RULE.explains


def test_on_disk_and_not_loaded() -> None:
    expected = "Secure Boot most likely blocks nvidia: it is on disk but not loaded."
    assert told(rule, machines.rtx4090_desktop(UNLOADED)) == [("error", "nvidia", expected)]


def test_near_misses_and_unknown() -> None:
    for edits in (
        {"kernel.secure_boot": True},
        UNLOADED | {"kernel.secure_boot": False},
        UNLOADED | {"kernel.secure_boot": None},
        UNLOADED | {"nvidia_driver.module_on_disk": None},
    ):
        assert found(rule, machines.rtx4090_desktop(edits)) == []


def test_a_module_that_will_not_load_under_secure_boot_is_suspected() -> None:
    text = {"symptoms": {"nvidia-module-load-failed": "ERROR: Unable to load the kernel module 'nvidia.ko'."}}
    (finding,) = found(rule, machines.build(text | {"kernel.secure_boot": True}))
    assert finding.severity.value == "warning"
    assert not found(rule, machines.build(text))
