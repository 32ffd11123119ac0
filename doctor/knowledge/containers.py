"""Entries of the tables of NVIDIA's container stack."""

from __future__ import annotations

from doctor.knowledge.entries import Entry


class CveFloor(Entry):
    """The version of the container stack in which a CVE is fixed; without one it is not known."""

    cve: str
    component: str
    fixed_in: str | None = None
    gpu_operator_fixed_in: str | None = None
    bulletin: int | None = None
    note: str | None = None


class ContainerFloor(Entry):
    """The oldest container stack in which every CVE with a known fix is fixed."""

    nvidia_container_toolkit: str
    gpu_operator: str
    why: str
    id: str


class ContainerRule(Entry):
    """How the container stack goes together."""

    id: str
    text: str
    values: tuple[str, ...] = ()


class ContainerToolkit(Entry):
    """A release of NVIDIA Container Toolkit."""

    version: str
    date: str
    notes: tuple[str, ...] = ()


class GpuOperator(Entry):
    """A release of NVIDIA GPU Operator and what it brings."""

    version: str
    date: str
    driver: str
    toolkit: str
    device_plugin: str
    gfd: str
    dcgm_exporter: str
    mig_manager: str
    dcgm: str | None = None
    gds: str | None = None
    gdrcopy: str | None = None
    cdi_enabled_default: bool | None = None
    kernel_module_type: str | None = None


class CloudNativeStack(Entry):
    """A release of NVIDIA Cloud Native Stack and what it brings."""

    version: str
    release_date: str
    platform: str
    os: str
    driver: str
    gpu_operator: str
    network_operator: str
    kubernetes: str
    containerd: str
    cri_o: str
    helm: str
    container_toolkit: str | None = None
    docker: str | None = None
    runc: str | None = None
    driver_playbook: str | None = None
