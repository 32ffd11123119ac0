"""What labelled lines say of containers: whether the text is from inside one, its engine, its toolkit.

>>> sheet = FactSheet()
>>> take(sheet, "text:1", "container engine", "docker 24.0.7"), sheet.get("container.engine_version")
(True, '24.0.7')
"""

from __future__ import annotations

import re

from doctor.facts.sheet import FactSheet

_ENGINES = (
    ("docker", "docker"),
    ("podman", "podman"),
    ("toolbox", "podman"),
    ("distrobox", "podman"),
    ("colima", "docker"),
    ("rancher desktop", "docker"),
    ("orbstack", "docker"),
    ("snap", "docker"),
    ("k3s", "kubernetes"),
    ("k0s", "kubernetes"),
    ("rke2", "kubernetes"),
    ("eks", "kubernetes"),
    ("gke", "kubernetes"),
    ("aks", "kubernetes"),
    ("minikube", "kubernetes"),
    ("cri-o", "kubernetes"),
    ("k8s", "kubernetes"),
    ("kubernetes", "kubernetes"),
    ("openshift", "kubernetes"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
    ("lxd", "lxc"),
    ("incus", "lxc"),
    ("apptainer", "apptainer"),
    ("singularity", "apptainer"),
    ("enroot", "enroot"),
    ("pyxis", "enroot"),
    ("nspawn", "systemd-nspawn"),
)
_BY_NAME = re.compile(
    r"\b(?:bubblewrap|bwrap|firejail|nsjail|landlock|gvisor|runsc|kata|lima|finch|wslc|runc|crun|charliecloud"
    r"|sarus|shifter|udocker|nomad|ecs|fargate|chroot)\b"
)
"""Engines and sandboxes that no rule tells apart by more than their name."""
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,3}(?:\.\d{1,4}){1,3})\b")
_TOOLKIT = {
    "container toolkit version",
    "nvidia container toolkit",
    "nvidia-container-toolkit",
    "nvidia container toolkit version",
    "nvidia-ctk version",
    # The library that does the work: of the toolkit's own number from 1.6 on, and 1.3 to 1.5 before as well.
    "libnvidia-container1",
    "libnvidia-container-tools",
    "libnvidia-container",
}
_YES = re.compile(r"(yes|true|no|false)\b", re.IGNORECASE)


def take(sheet: FactSheet, where: str, label: str, value: str) -> bool:
    """Whether the line is of containers; `label` is in lower case."""
    if label in ("running inside a container", "inside a container", "running in docker", "in container", "in docker"):
        if found := _YES.match(value):
            sheet.put("container.inside", found[1].lower() in ("yes", "true"), where)
    elif label in ("container engine", "container runtime", "docker version", "docker", "podman version", "engine"):
        _engine(sheet, where, f"docker {value}" if label.startswith("docker") else value)
    elif label in _TOOLKIT:
        _toolkit(sheet, where, value)
    elif label in ("docker image", "image", "container image"):
        if re.match(r"[a-z0-9][\w.-]*(?::\d+)?/[\w./:@-]{2,200}$", value):
            sheet.put("container.image", value, where)
    else:
        return False
    return True


def _engine(sheet: FactSheet, where: str, value: str) -> None:
    low = value.lower()
    if re.match(r"docker (?:error|permission|cannot|unknown|failed|invalid|command)", low):
        return  # the client's own error lines start with `docker: `
    engine = next((name for word, name in _ENGINES if word in low), None)
    if engine is not None:
        sheet.put("container.engine", engine, where)
    elif not _BY_NAME.search(low):
        return
    if "rootless" in low:
        sheet.put("container.rootless", True, where)
    sheet.put("container.engine_text", value[:120], where)
    if found := _VERSION.search(value):
        sheet.put("container.engine_version", found[1], where)


def _toolkit(sheet: FactSheet, where: str, value: str) -> None:
    if re.search(r"not installed|missing|none\b", value.lower()):
        sheet.absent("container.toolkit_installed", where, False)
    elif found := _VERSION.search(value):
        sheet.put("container.toolkit_version", found[1], where)
        sheet.put("container.toolkit_installed", True, where)
