"""Services of a compose file -> faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.images.lint import pip
from doctor.images.lint.model import Fault
from doctor.parsers.container.compose import ComposeFile


def faults(file: ComposeFile) -> Iterator[Fault]:
    for name, service in file.services.items():
        if not _gpu(service):
            continue
        yield from _image(file, name, service)
        yield from _rights(file, name, service)
        yield from _devices(file, name, service)
        yield from _requests(file, name, service)


def _words(value: Any) -> list[str]:
    return [str(v) for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _requested(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: Any = service
    for key in ("deploy", "resources", "reservations", "devices"):
        found = found.get(key) if isinstance(found, dict) else None
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _given(service: Mapping[str, Any]) -> bool:
    """Whether it is started with a GPU."""
    devices = _words(service.get("devices"))
    named = any(d.startswith(("/dev/kfd", "/dev/dri", "/dev/nvidia")) or "/gpu=" in d for d in devices)
    return bool(named or service.get("gpus") or service.get("runtime") in ("nvidia", "amd") or _requested(service))


def _gpu(service: Mapping[str, Any]) -> bool:
    return _given(service) or pip.vendor_of_image(str(service.get("image") or "")) is not None


def _image(file: ComposeFile, name: str, service: Mapping[str, Any]) -> Iterator[Fault]:
    image = service.get("image")
    if not isinstance(image, str) or "$" in image or "@" in image or service.get("build"):
        return
    tag = image.rpartition("/")[2].partition(":")[2]
    if tag in ("", "latest"):
        line = file.line("services", name, "image")
        yield Fault(
            line,
            "image-base-moves",
            "warning",
            f"{name}: {image[:80]} is whatever was pushed last",
            "name a version and its digest",
        )


def _rights(file: ComposeFile, name: str, service: Mapping[str, Any]) -> Iterator[Fault]:
    def at(*path: str | int) -> int:
        return file.line("services", name, *path)

    if service.get("privileged") is True:
        yield Fault(
            at("privileged"),
            "image-privileged",
            "warning",
            f"{name}: privileged opens every device and all of the host",
            "devices: [/dev/kfd, /dev/dri] and group_add, or gpus: all (`doctor run --emit compose`)",
        )
    if service.get("ipc") == "host":
        yield Fault(
            at("ipc"),
            "image-ipc-host",
            "warning",
            f"{name}: what is needed of ipc: host is a large /dev/shm",
            "shm_size: 8gb; ipc: host only where containers share memory with each other",
        )
    for number, option in enumerate(_words(service.get("security_opt"))):
        if option.replace(":", "=") == "seccomp=unconfined":
            yield Fault(
                at("security_opt", number),
                "image-seccomp-unconfined",
                "info",
                f"{name}: HIP, CUDA and RCCL work filtered",
                "leave it out; for NUMA binding cap_add: [SYS_NICE]",
            )
    for number, group in enumerate(_words(service.get("group_add"))):
        if group == "render":
            text = f"{name}: {group} is looked up in the image; its number on the host is another"
            yield Fault(
                at("group_add", number),
                "image-group-by-name",
                "error",
                text,
                "the number: stat -c %g /dev/kfd /dev/dri/renderD128",
            )


def _devices(file: ComposeFile, name: str, service: Mapping[str, Any]) -> Iterator[Fault]:
    devices = _words(service.get("devices"))
    line = file.line("services", name, "devices")
    kfd = any(d.startswith("/dev/kfd") for d in devices)
    dri = any(d.startswith("/dev/dri") for d in devices)
    if kfd and not dri:
        yield Fault(
            line,
            "image-device-missing",
            "error",
            f"{name}: /dev/kfd without a render node: no GPU computes",
            "add /dev/dri",
        )
    amd = pip.vendor_of_image(str(service.get("image") or "")) == "amd"
    if dri and not kfd and amd:
        yield Fault(
            line, "image-device-missing", "error", f"{name}: /dev/dri without /dev/kfd: HIP sees no GPU", "add /dev/kfd"
        )
    user = str(service.get("user") or "")
    if (
        kfd
        and user.split(":")[0] not in ("", "0", "root")
        and not [g for g in service.get("group_add") or () if g != "video"]
        and not service.get("privileged")
    ):
        text = f"{name}: user {user[:40]} has no group that may open /dev/kfd"
        fix = "group_add with the number of stat -c %g /dev/kfd"
        yield Fault(file.line("services", name, "user"), "image-device-missing", "warning", text, fix)
    if _given(service) and not service.get("shm_size") and service.get("ipc") is None and not _shm(service):
        text = f"{name}: /dev/shm has 64 MiB; data loaders and collectives end with a bus error there"
        yield Fault(file.line("services", name), "image-shm-small", "info", text, "shm_size: 8gb")


def _shm(service: Mapping[str, Any]) -> bool:
    rows = [*(service.get("tmpfs") or ()), *(service.get("volumes") or ())]
    return any("/dev/shm" in str(row) for row in rows)  # noqa: S108  what is looked for, not what is used


def _requests(file: ComposeFile, name: str, service: Mapping[str, Any]) -> Iterator[Fault]:
    for number, row in enumerate(_requested(service)):
        line = file.line("services", name, "deploy", "resources", "reservations", "devices", number)
        if not row.get("capabilities"):
            yield Fault(
                line,
                "image-gpu-request-wrong",
                "error",
                f"{name}: a device request without capabilities is refused",
                "capabilities: [gpu]",
            )
        if row.get("count") is not None and row.get("device_ids"):
            yield Fault(
                line,
                "image-gpu-request-wrong",
                "error",
                f"{name}: count and device_ids exclude each other",
                "keep one of the two",
            )
    environment = service.get("environment")
    names = set(environment) if isinstance(environment, dict) else {w.partition("=")[0] for w in _words(environment)}
    if "AMD_VISIBLE_DEVICES" in names and service.get("runtime") != "amd":
        yield Fault(
            file.line("services", name, "environment"),
            "image-gpu-request-wrong",
            "warning",
            f"{name}: AMD_VISIBLE_DEVICES is read by AMD's container runtime only",
            "runtime: amd",
        )
