"""A framework that lists its GPU lacks no plugin and no library, where nothing else accuses."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.findings import Severity
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text

TF = "Package    Version\n---------- -------\ntensorflow 2.17.0\n\nwhy does it train so slowly?\n{}\n"


def raised(text: str) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge())
    return [f.rule for f in report.findings if f.severity is not Severity.INFO]


def test_tensorflow_that_lists_its_gpu() -> None:
    listed = "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"
    assert "tensorflow-gpu-mismatch" not in raised(TF.format(listed))
    broken = "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0"
    assert raised(TF.format(f"{listed}\n{broken}"))
