"""What a template is: the text that a program prints, where it prints it, and what may have caused it.

    [[template]]
    id = "hip-invalid-device-function"
    text = "HIP error: invalid device function"     # typed holes: doctor/triage/templates/holes.py
    sample = "RuntimeError: HIP error: invalid device function"
    source = "ROCm/clr f9f995c6: hipamd/src/hip_error.cpp"   # program, release or commit, file
    checked = "source"                              # where the text was seen: see `Checked`
    as_of = "2026-11-20"                            # when
    causes = [{ rule = "torch-missing-gpu-arch", sure = "likely", vendor = "amd", unless = { "os.id" = "windows" } }]

A template lives in the file that is named after the first cause it lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from doctor.facts.snapshot import Snapshot
from doctor.triage.templates.conditions import holds
from doctor.triage.templates.pattern import Pattern, compiled

Sure = Literal["certain", "likely", "possible"]
Checked = Literal["source", "format", "binary", "thread", "page", "quoted"]
"""Where the text was seen. `source`: word for word in that file. `format`: the file has the format, of which the text
is one filling. `binary`: among the strings of that file. `thread`, `page`: `source` is the address of a report that
shows it, or of a vendor's page. `quoted`: public files quote it as a program's output; `source` is that program, and
the file that prints it was not read."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cause(_Strict):
    """One cause, how sure the text alone makes it (certain: error, likely: warning, possible: information), and what
    the facts must say. `seen` and `not_seen` name other templates, for a text that two programs print alike."""

    rule: str
    sure: Sure
    vendor: Literal["amd", "nvidia"] | None = None
    when: dict[str, Any] = Field(default_factory=dict)
    unless: dict[str, Any] = Field(default_factory=dict)
    seen: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()
    summary: str | None = None

    def holds(self, machine: Snapshot) -> bool:
        """Whether nothing that is known speaks against it, and what it asks for is known."""
        return not any(True for _ in self.missing(machine))

    def missing(self, machine: Snapshot) -> Iterator[str]:
        """What it asks for that does not hold, in words of facts."""
        if self.vendor and not _may_be(machine, self.vendor):
            yield f"a GPU of {self.vendor}"
        if self.seen or self.not_seen:
            keys = {symptom.key for symptom in machine.symptoms}
            if self.seen and not keys & set(self.seen):
                yield f"one of: {', '.join(self.seen)}"
            if against := keys & set(self.not_seen):
                yield f"none of: {', '.join(sorted(against))}"
        yield from (f"{name} = {value}" for name, value in self.when.items() if not holds(machine, name, value))
        yield from (f"{name} other than {value}" for name, value in self.unless.items() if holds(machine, name, value))


class Template(_Strict):
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    text: str
    sample: str
    source: str = Field(min_length=2)
    checked: Checked
    as_of: str = Field(pattern=r"^20\d\d-\d\d-\d\d$")
    causes: tuple[Cause, ...] = ()

    @cached_property
    def pattern(self) -> Pattern:
        """Raises ValueError where the text is no template."""
        return compiled(self.text)


_BUILD_OF_OTHER = {"amd": "cuda", "nvidia": "rocm"}


def _may_be(machine: Snapshot, vendor: str) -> bool:
    known = {gpu.vendor for gpu in machine.gpus or ()} - {None}
    if not known:
        built = {row.key.partition("/")[0] for row in machine.kernel.dkms or ()}
        of_nvidia = machine.nvidia_driver.version is not None or "nvidia" in built
        of_amd = machine.amdgpu_driver.version is not None or "amdgpu" in built
        known = {"nvidia" if of_nvidia else "amd"} if of_nvidia != of_amd else set()
    return vendor in known if known else machine.torch.build != _BUILD_OF_OTHER[vendor]
