"""What the container engine at hand is and can do, from what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from doctor.parsers.container.cdi_spec import CdiSpec
from doctor.probes.lib.engine_mode import CDI_FOLDERS
from doctor.versions import Dotted

Name = Literal["docker", "podman"]

CDI_SINCE: Mapping[str, tuple[int, ...]] = {"docker": (25,), "podman": (4, 1)}
"""Docker 25 reads CDI specs (behind a feature flag until 28.3); podman since 4.1."""
_NEWEST_SPEC: Mapping[str, tuple[tuple[tuple[int, ...], str | None], ...]] = {
    "docker": (((27,), None), ((26, 1), "0.7.0"), ((25,), "0.6.0")),
    "podman": (((5, 2), None), ((5, 1), "0.7.0"), ((4, 1), "0.5.0")),
}
"""The newest cdiVersion that an engine is known to read; None: no bound is known. 0.7.0 by Docker 26.1 and podman 5.1:
release notes of the NVIDIA container toolkit 1.19.1; podman 4.3 refuses all after 0.5.0 (seen), which is taken for all
before 5.1."""
GPUS_SINCE: Mapping[str, tuple[int, ...]] = {"docker": (19, 3), "podman": (6,)}
"""`--gpus`: release notes of Docker 19.03 and podman 6.0."""


@dataclass(frozen=True)
class Spec:
    """A CDI spec file and, where it can't be used, why."""

    path: str
    read: CdiSpec
    missing: tuple[str, ...] = ()
    """Paths of the host that it names and that are not there."""


@dataclass(frozen=True)
class Engine:
    """`version` is the server's. `cdi` False: it can't, or is configured not to."""

    name: Name
    version: Dotted
    runtimes: frozenset[str] = frozenset()
    cdi: bool = False
    cdi_folders: tuple[str, ...] = CDI_FOLDERS
    rootless: bool = False
    desktop: bool = False
    userns_remap: bool = False
    """root of a container is another account of the host (docker's daemon.json)."""
    selinux: bool = False
    """SELinux is enforcing, and the engine labels its containers."""
    device_boolean: bool | None = None
    """SELinux's container_use_devices; None: it can't be read."""
    seccomp: str = ""
    """Path of the seccomp profile that replaces docker's own."""
    toolkit: bool = False
    """NVIDIA's container toolkit is installed where docker's `--gpus` looks for it."""
    oci_runtime: str = ""
    """What podman starts containers with: `crun`, `runc`."""
    capped: Mapping[str, int] = field(default_factory=dict)
    """Limits (memlock in bytes, nofile) that a container can't be given more of, since the process that starts it is
    held to them itself and lacks CAP_SYS_RESOURCE. Others are not bounded, or it can't be seen."""
    specs: tuple[Spec, ...] = ()
    base: tuple[str, ...] = ()
    """The command line that reaches it: `docker`, or with `--host` or `--context`."""
    program: str = ""
    """Path of what is executed for the first word of `base`."""

    @property
    def newest_spec(self) -> Dotted | None:
        """The newest cdiVersion that it reads; None where no bound is known."""
        for since, spec in _NEWEST_SPEC[self.name]:
            if self.version.numbers >= since:
                return Dotted(spec) if spec else None
        return None

    def cdi_nodes(self) -> Mapping[str, frozenset[str]]:
        """The nodes of each CDI device, by its whole name (`amd.com/gpu=0`)."""
        rows = ((f"{s.read.kind}={name}", edits) for s in self.specs for name, edits in s.read.devices.items())
        return {name: frozenset(edits.nodes) for name, edits in rows}

    def reads(self, spec: CdiSpec) -> bool:
        newest = self.newest_spec
        return newest is None or Dotted(spec.version).numbers <= newest.numbers

    @property
    def has_gpus_flag(self) -> bool:
        return self.version.numbers >= GPUS_SINCE[self.name]
