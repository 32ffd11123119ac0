"""Services of a compose file -> faults."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor.images.lint import docker_file, pip
from doctor.images.lint.model import Fault, Stage
from doctor.images.lint.pip import Opened
from doctor.parsers.container.yaml_tree import Node

SMALL_SHM = "/dev/shm has 64 MiB; data loaders and collectives that need more end with a bus error"  # noqa: S108
NODES = ("/dev/kfd", "/dev/dri", "/dev/nvidia")


def faults(services: Node, opened: Opened) -> Iterator[Fault]:
    for name, service in services.fields.items():
        stage = _built(service, opened)
        image = stage.base if stage else service.at("image").text or ""
        vendor = pip.vendor_of_image(image)
        if vendor is None and not _given(service):
            continue
        yield from moving_tag(name, service)
        yield from _rights(name, service)
        yield from _devices(name, service, vendor, stage)
        yield from _requests(name, service, image, stage)


def _built(service: Node, opened: Opened) -> Stage | None:
    """The stage of the Dockerfile that a service is built from; None where it is not there, or an argument of the
    service may be its base."""
    build = service.at("build")
    context = build.text or build.at("context").text or "."
    if not (build.text or build.fields) or "$" in context or "://" in context:
        return None
    path = posixpath.normpath(posixpath.join(context, build.at("dockerfile").text or "Dockerfile"))
    text = build.at("dockerfile_inline").text or opened(path) or ""
    stage = docker_file.built(text, build.at("target").text)
    args = build.at("args")
    return None if stage and (args.fields or args.items) and re.search(r"^FROM\s[^\n]{0,200}\$", text, re.M) else stage


RANKS = re.compile(r"(?<!\S)--?(?:tp|tp-size|tensor-parallel-size|num-shard|nproc[-_]per[-_]node)[= ](\d{1,3})(?!\S)")


def ranks(name: str, container: Node, gpus: int, stage: Stage | None = None) -> Iterator[Fault]:
    """Of a container's command, in a manifest too, or of the image's own; Ray starts ranks on other nodes."""
    nodes = [container.at(key) for key in ("command", "args", "entrypoint")]
    text = " ".join(word for node in nodes for word in [node.text or "", *_words(node)])
    text = text if text.strip() or not stage else " ".join(stage.command.values())
    if (found := RANKS.search(text)) and int(found[1]) > gpus and "ray" not in text:
        text = f"{name}: {found[0].strip()} needs {found[1]} GPUs, and {gpus} {'is' if gpus == 1 else 'are'} given"
        line = next((node.line for node in nodes if node.line), container.line)
        yield Fault(line, "image-gpu-request-wrong", "error", text, "as many GPUs as ranks")


def other_vendor(line: int, name: str, image: str | None, asked: str) -> Iterator[Fault]:
    vendor = pip.vendor_of_image(image or "")
    if vendor not in (None, asked):
        text = f"{name}: GPUs of {asked.upper()} for {(image or '')[:80]}, which is for those of {vendor.upper()}"
        fix = "ask for the other vendor's GPUs, or take another image"
        yield Fault(line, "image-gpu-request-wrong", "error", text, fix)


def moving_tag(name: str, service: Node) -> Iterator[Fault]:
    """Of a container's `image`, in a manifest too."""
    image = service.at("image").text
    if not image or "$" in image or "@" in image or "build" in service.fields:
        return
    name_in_registry, _, tag = image.rpartition("/")[2].partition(":")
    own = re.match(r"localhost[:/]|127\.|(?:your|my|example)[-_./]", image)  # built here, or a placeholder
    if tag in ("", "latest") and name_in_registry.islower() and not own:
        text = f"{name}: {image[:80]} is whatever was pushed last"
        yield Fault(service.at("image").line, "image-base-moves", "warning", text, "name a version and its digest")


def _words(node: Node) -> list[str]:
    return [item.text for item in node.items if item.text is not None]


def _requested(service: Node) -> list[Node]:
    return service.at("deploy", "resources", "reservations", "devices").items


def _given(service: Node) -> bool:
    named = any(d.startswith(NODES) or "/gpu=" in d for d in _words(service.at("devices")))
    gpus = service.at("gpus")
    asked = bool(gpus.text or gpus.items or _requested(service))
    return named or asked or service.at("runtime").text in ("nvidia", "amd")


def _privileged(service: Node) -> bool:
    return (service.at("privileged").text or "").lower() in ("true", "yes", "on")


def _rights(name: str, service: Node) -> Iterator[Fault]:
    if _privileged(service):
        text = f"{name}: privileged opens every device and all of the host"
        fix = "devices: [/dev/kfd, /dev/dri] and group_add, or gpus: all (`doctor run --emit compose`)"
        yield Fault(service.at("privileged").line, "image-privileged", "warning", text, fix)
    if service.at("ipc").text == "host":
        text = f"{name}: what is needed of ipc: host is a large /dev/shm"
        sized = "leave it out: shm_size is set, and ignored with it"
        fix = "shm_size: 8gb; ipc: host only where containers share memory with each other"
        fix = sized if service.at("shm_size").text else fix
        yield Fault(service.at("ipc").line, "image-ipc-host", "warning", text, fix)
    for option in service.at("security_opt").items:
        if (option.text or "").replace(":", "=") == "seccomp=unconfined":
            text, fix = (
                f"{name}: HIP, CUDA and RCCL work filtered",
                "leave it out; for NUMA binding cap_add: [SYS_NICE]",
            )
            yield Fault(option.line, "image-seccomp-unconfined", "info", text, fix)
    for group in service.at("group_add").items:
        if group.text == "render":
            text = (
                f"{name}: render is looked up in the image, which may have no such group; the host's has its own number"
            )
            fix = "the number: stat -c %g /dev/kfd /dev/dri/renderD128"
            yield Fault(group.line, "image-group-by-name", "error", text, fix)


def _devices(name: str, service: Node, vendor: str | None, stage: Stage | None) -> Iterator[Fault]:
    devices = _words(service.at("devices"))
    line = service.at("devices").line
    kfd = any(d.startswith("/dev/kfd") for d in devices)
    dri = any(d.startswith("/dev/dri") for d in devices)
    if not _privileged(service):  # which opens them all
        if kfd and not dri:
            text = f"{name}: /dev/kfd without a render node: no GPU computes"
            yield Fault(line, "image-device-missing", "error", text, "add /dev/dri")
        if dri and not kfd and vendor == "amd":
            text = f"{name}: /dev/dri without /dev/kfd: HIP sees no GPU"
            yield Fault(line, "image-device-missing", "error", text, "add /dev/kfd")
        user = service.at("user").text or (stage.user if stage and not stage.groups else "")
        groups = [g for g in _words(service.at("group_add")) if g != "video"]
        if kfd and user.split(":")[0] not in ("", "0", "root") and not groups:
            text = f"{name}: user {user[:40]} has no group that may open /dev/kfd"
            fix = "group_add with the number of stat -c %g /dev/kfd"
            yield Fault(service.at("user").line or line, "image-device-missing", "warning", text, fix)
    if _given(service) and not service.at("shm_size").text and not service.at("ipc").text and not _shm(service):
        yield Fault(service.line, "image-shm-small", "info", f"{name}: {SMALL_SHM}", "shm_size: 8gb")


def _shm(service: Node) -> bool:
    rows = [*service.at("tmpfs").items, *service.at("volumes").items, service.at("tmpfs")]
    return any("/dev/shm" in (row.text or row.at("target").text or "") for row in rows)  # noqa: S108 what is looked for


def _requests(name: str, service: Node, image: str, stage: Stage | None) -> Iterator[Fault]:
    if service.at("runtime").text in ("nvidia", "amd"):
        yield from other_vendor(service.at("runtime").line, name, image, service.at("runtime").text or "")
    for row in _requested(service):
        if row.at("driver").text == "nvidia":
            yield from other_vendor(row.line, name, image, "nvidia")
        count, listed = row.at("count").text or "", row.at("device_ids").items
        if len(_requested(service)) == 1 and (listed or count.isdecimal()):
            yield from ranks(name, service, len(listed) or int(count), stage)
        if not row.at("capabilities").items:
            text = f"{name}: a device request without capabilities is refused"
            yield Fault(row.line, "image-gpu-request-wrong", "error", text, "capabilities: [gpu]")
        if row.at("count").text is not None and row.at("device_ids").items:
            text = f"{name}: count and device_ids exclude each other"
            yield Fault(row.line, "image-gpu-request-wrong", "error", text, "keep one of the two")
    environment = service.at("environment")
    names = {*environment.fields, *(word.partition("=")[0] for word in _words(environment))}
    if "AMD_VISIBLE_DEVICES" in names and service.at("runtime").text != "amd":
        text = f"{name}: AMD_VISIBLE_DEVICES is read by AMD's container runtime only"
        yield Fault(environment.line, "image-gpu-request-wrong", "warning", text, "runtime: amd")
