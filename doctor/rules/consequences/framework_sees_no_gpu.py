from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import presence, run_line
from doctor.rules.lib.advice import kernel_log, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="framework-sees-no-gpu",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="A framework or server reports no usable GPU.",
    needs=({"nvidia_driver.nvml_error"}, {"nvidia_driver.nvml_gpus"}),
    facts_decide=False,
    proven="synthetic",
    order=90,
    tags=("consequences", "nvidia"),
    doc="""## What it finds
An error text of a framework other than torch (JAX, TensorFlow, ollama, vLLM, ONNX Runtime …) that it found no GPU. Or
NVML, the driver's own library, does not start, or lists no GPU although the kernel module drives some.

## Why it matters
The framework runs on the CPU or stops. This is a consequence; a known cause is shown above it.

## Not raised when
No error message shows it and NVML lists GPUs, or no NVIDIA GPU is driven by its module.

## How to confirm
The framework's own list of devices.

## Fix
Run `doctor check` in the same environment: it names the first part that fails. By hand:

- `nvidia-smi -L` or `rocminfo` fails too: the cause is the driver, the container or a permission. See the table of
  torch-sees-no-gpu.
- They work: the framework is a CPU build, or built for another CUDA or ROCm. Install its GPU package again
  (`jax[cuda12]`, `tensorflow[and-cuda]`, `onnxruntime-gpu`, `tensorflow-rocm`).

## Fix safety
The checks change nothing.

## References
docs/rules.md
""",
)

REMEDIES = (
    way(
        "Run `doctor check` on that machine to find out why.",
        Scope.ENVIRONMENT,
        step("Run it on the machine, with the same user and environment.", "doctor", "check"),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """NVML is what nvidia-smi, CUDA's monitors and container engines start from: where it fails they all do."""
    driver = machine.nvidia_driver
    gpus = presence.present(machine, "nvidia")
    driven = machine.host.wsl is True or (driver.loaded is True and presence.bound(gpus, "nvidia"))
    if not driven or run_line.from_text(machine, "nvidia_driver.nvml_error"):
        return
    if driver.nvml_error:
        summary = f"NVML fails to start ({driver.nvml_error[:60]}); so do nvidia-smi and programs that need it."
    elif driver.nvml_gpus == 0:
        summary = "NVML lists no GPU, but the kernel module drives some."
    else:
        return
    yield Finding(
        summary=summary,
        subject=Subject(kind="driver", id="nvml"),
        evidence=evidence(
            machine, ("nvidia_driver.nvml_error", "nvidia_driver.nvml_gpus", "nvidia_driver.smi_error", "gpus")
        ),
        remedies=(kernel_log("Read what the driver logged.", "nvrm", "nvidia"),),
        verify=("nvidia-smi", "-L"),
    )
