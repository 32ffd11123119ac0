"""The container engines of a host, the vendors' toolkits beside them, and the CDI specs that engines read."""

from doctor.facts.model import Model


class EngineMode(Model):
    """How an engine runs, from what it answers; where it can't be asked, from its configuration and package."""

    version: str | None = None
    runtimes: tuple[str, ...] | None = None
    cdi_folders: tuple[str, ...] | None = None
    """Where it looks for CDI specs; () where it reads none."""
    rootless: bool | None = None
    userns_remap: bool | None = None
    """root of a container is another account of the host."""
    selinux: bool | None = None
    """SELinux is enforcing, and the engine labels its containers."""
    device_boolean: bool | None = None
    """SELinux's container_use_devices."""
    seccomp_profile: str | None = None
    """Path of the profile that replaces the engine's own; empty: there is none."""
    desktop: bool | None = None
    oci_runtime: str | None = None
    """What podman starts containers with: `crun`, `runc`."""
    limits: dict[str, int] | None = None
    """Limits (memlock in bytes, nofile) that it can't raise for a container, since its own process is held to them."""


class ContainerEngine(Model):
    """`key` is its name: `docker`, `podman`, `containerd`, `cri-o`."""

    key: str
    path: str | None = None
    version: str | None = None
    runtimes: tuple[str, ...] | None = None
    """Runtimes that its configuration adds (`nvidia`, `amd`)."""
    default_runtime: str | None = None
    cdi: bool | None = None
    """Whether its configuration turns CDI on or off; None where it says nothing."""
    config_error: str | None = None
    """Where its configuration is broken: `/etc/docker/daemon.json, line 3: …`."""
    mode: EngineMode = EngineMode()


class Toolkit(Model):
    """`key` is `nvidia` or `amd`."""

    key: str
    path: str | None = None
    version: str | None = None
    hook: bool | None = None
    """NVIDIA's program that docker's `--gpus` starts is installed."""
    no_cgroups: bool | None = None
    """Whether it leaves the device cgroup alone; False where its configuration says nothing."""
    config_error: str | None = None


class CdiFile(Model):
    """`key` is the path of the spec."""

    key: str
    kind: str | None = None
    """`nvidia.com/gpu`, `amd.com/gpu`."""
    fault: str | None = None
    """Why it can't be read as a spec."""
    version: str | None = None
    """Its cdiVersion."""
    devices: tuple[str, ...] | None = None
    driver: str | None = None
    """The NVIDIA driver whose libraries it mounts."""
    missing: tuple[str, ...] | None = None
    """Paths of the host that it names and that are not there; () where all are."""
    majors: dict[str, int] | None = None
    """The major number that it gives a device node, by the node's path on the host."""
