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


class ContainerToolkit(Entry):
    """A release of NVIDIA Container Toolkit."""

    version: str
    date: str
    notes: tuple[str, ...] = ()
