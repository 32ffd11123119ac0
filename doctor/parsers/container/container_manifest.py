"""A compose file or a Kubernetes manifest, whole or in part -> what it asks of the engine, as `docker run -d` would.

>>> sheet = read("devices:\\n  - /dev/kfd:/dev/kfd\\ngroup_add:\\n  - video")
>>> sheet.get("container.run_args")
['-d', '--device=/dev/kfd:/dev/kfd', '--group-add=video']

Several services are read as one: what any of them asks for counts. Read by lines, since what people paste is often cut.
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 500,
        "words": (
            "services:",
            "deploy:",
            "devices:",
            "group_add",
            "shm_size",
            "runtime:",
            "limits:",
            "runtimeclassname",
            "supplementalgroups",
            "resources:",
            "image:",
            "runners.docker",
            "runargs",
            "devcontainer",
            "postcreatecommand",
            "remoteuser",
        ),
    },
)

_LINE = re.compile(
    r"(?P<indent>\s{0,60})(?P<dash>-\s{1,4})?(?P<key>[A-Za-z][\w./-]{0,60}):(?:\s{1,8}(?P<value>.{0,400}))?$"
)
_ITEM = re.compile(r"(?P<indent>\s{0,60})-\s{1,4}(?P<value>.{1,400})$")
_LISTS = {"devices": "--device", "group_add": "--group-add", "security_opt": "--security-opt", "cap_add": "--cap-add"}
_VALUES = {"shm_size": "--shm-size", "ipc": "--ipc", "runtime": "--runtime", "user": "--user", "gpus": "--gpus"}
_OTHER = re.compile(
    r"\s{0,20}\"?(?P<key>image|gpus|devices|privileged|shm_size|runArgs)\"?\s{0,4}[=:]\s{0,4}(?P<value>.{1,400}?),?$"
)
_OTHER_MARKS = re.compile(
    r"\s{0,8}(?:\[runners\.docker\]|\"(?:runArgs|postCreateCommand|remoteUser|customizations|features)\"\s{0,3}:)"
)
"""GitLab's config.toml and devcontainer.json, whose keys are those of a run line."""
_GPU_LIMIT = re.compile(r"(?:nvidia|amd)\.com/[\w.-]{1,40}$")
_FLOW_GPU = re.compile(r"\bcapabilities[\"']?:\s{0,4}\[[^\]]{0,60}\bgpu\b")
_FLOW_LIMIT = re.compile(r"\b((?:nvidia|amd)\.com/[\w.-]{1,40})[\"']?:\s{0,4}[\"']?([1-9]\d{0,3})\b")
_MARKS = frozenset(
    (*_LISTS, "shm_size", "runtime", "gpus", "deploy", "services", "runtimeClassName", "resources", "containers")
)
"""One of these must be in the text: a lone `image:` or `user:` is no manifest."""
_MAPPINGS = frozenset(("deploy", "services", "resources", "containers"))
"""What these hold is on lines of its own: with a word beside it, it is another tool's setting or a sentence."""
_OTHER_TOOLS = frozenset(("gpu", "accelerator", "accelerators"))
"""Beneath `resources:` in files of dstack, SkyPilot and the like, which give a container its GPUs by themselves."""
_SHARING = frozenset(("mps", "timeSlicing", "renameByDefault", "failRequestsGreaterThanOne"))
"""Before `resources:` in the NVIDIA device plugin's own configuration, which asks for nothing."""
_MOUNTS = {"volumes": "--volume", "tmpfs": "--tmpfs"}
_SHM = "/dev/shm"  # noqa: S108 - the container's own
_ARGS_LIMIT = 200


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where nothing of it is a manifest."""
    manifest = _Manifest()
    lines = list(source_lines(text, source))
    other = next((where for where, line in lines if _OTHER_MARKS.match(line[:100])), "")
    for where, line in lines:
        if other and len(line) < 600 and (found := _OTHER.match(line)):
            manifest.other(other, found["key"], found["value"])
        elif len(line) < 600:
            manifest.take(where, line.split(" #")[0].rstrip())
    if not manifest.marked or manifest.other_tool:
        raise ParserError("no compose file or manifest in the text")
    sheet = FactSheet()
    where = manifest.first
    # Another file holds the rest: what this one does not ask for may be asked for there.
    if not manifest.extends or manifest.asks_for_gpu():
        sheet.put("container.run_args", manifest.args[:_ARGS_LIMIT], where)
    if manifest.image:
        sheet.put("container.image", manifest.image, where)
    if manifest.kubernetes:
        sheet.put("container.engine", "kubernetes", where)
    return sheet


class _Manifest:
    def __init__(self) -> None:
        self.args: list[str] = ["-d"]
        self.first = ""
        self.image = ""
        self.marked = False
        self.extends = False
        self.other_tool = False
        self.resources: int | None = None
        self.kubernetes = False
        self.list = ""
        self.key_before = ""
        self.driver = False

    def take(self, where: str, line: str) -> None:
        found = _LINE.match(line)
        if found:
            self.beneath(len(found["indent"]), found["key"], found["value"] or "")
            if "{" in (found["value"] or ""):
                self.flow(found["value"])
            self.key(where, found["key"], _plain(found["value"] or ""))
        elif item := _ITEM.match(line):
            if "{" in item["value"]:
                self.flow(item["value"])
            elif self.list:
                self.item(_plain(item["value"]))

    def flow(self, value: str) -> None:
        """Mappings on one line: `deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}`."""
        if _FLOW_GPU.search(value):
            self.args.append("--gpus=all")
        for limit in _FLOW_LIMIT.finditer(value):
            self.kubernetes = True
            self.args.append(f"--gpus={limit[1]}={limit[2]}")

    def asks_for_gpu(self) -> bool:
        return any(word.startswith(("--gpus", "--device", "--runtime", "--privileged")) for word in self.args)

    def beneath(self, indent: int, key: str, value: str) -> None:
        """Notes a key that another tool's `resources:` holds."""
        if self.resources is not None and indent <= self.resources:
            self.resources = None
        if self.resources is not None and key in _OTHER_TOOLS and value.strip():
            self.other_tool = True
        if key == "resources" and not value.strip():
            self.resources = indent

    def key(self, where: str, key: str, value: str) -> None:
        self.list = ""
        plugin, self.key_before = self.key_before in _SHARING, key
        self.extends = self.extends or key == "extends"
        sentence = key in _MAPPINGS and value != "" and value[0] not in "[&*!"
        if key in _MARKS and not plugin and not sentence and not value.startswith(("{", "<")):
            self.marked, self.first = True, self.first or where
        if key == "image" and value:
            self.image = self.image or kept(value, 200)
        elif key == "mountPath" and value == _SHM:
            self.args.append(f"--mount=target={_SHM}")
        elif key in _LISTS or key in ("capabilities", "supplementalGroups", *_MOUNTS):
            self.list = key
            for part in value.strip("[]").split(",") if value else ():
                self.item(_plain(part))
        elif key in _VALUES and value:
            self.args.append(f"{_VALUES[key]}={value}")
        elif key == "runtimeClassName" and value:
            self.kubernetes = True
            self.args.append(f"--runtime={value}")
        elif key == "privileged" and value.lower() == "true":
            self.args.append("--privileged")
        elif _GPU_LIMIT.match(key) and value not in ("", "0"):
            self.kubernetes = True
            self.args.append(f"--gpus={key}={value}")
        elif key in ("apiVersion", "containers", "supplementalGroups"):
            self.kubernetes = self.kubernetes or value in ("v1", "apps/v1", "batch/v1") or key != "apiVersion"

    def other(self, where: str, key: str, value: str) -> None:
        """A setting of a CI runner or a development container."""
        self.marked, self.first = True, self.first or where
        parts = [kept(_plain(part), 200) for part in value.strip("[] ").split(",")][:60]
        if key == "image":
            self.image = self.image or parts[0]
        elif key == "runArgs":
            self.args += [part for part in parts if part]
        elif key == "devices":
            self.args += [f"--device={part}" for part in parts if part]
        elif key == "privileged":
            self.args += ["--privileged"] if parts[0] == "true" else []
        else:
            self.args.append(f"{_VALUES[key]}={parts[0]}")

    def item(self, value: str) -> None:
        if self.list == "capabilities":
            if value == "gpu":
                self.args.append("--gpus=all")
        elif self.list in _MOUNTS:  # of what is mounted, shared memory alone says something of work on GPUs
            if _SHM in value:
                self.args.append(f"{_MOUNTS[self.list]}={kept(value, 200)}")
        elif self.list == "supplementalGroups":
            self.args.append(f"--group-add={value}")
        elif self.list == "devices":
            if value.startswith("/") or re.match(r"[\w.]{1,40}/\w{1,20}=", value):
                self.args.append(f"--device={kept(value, 200)}")
        elif value:
            self.args.append(f"{_LISTS[self.list]}={kept(value, 200)}")


def _plain(value: str) -> str:
    return value.strip().strip("\"'").strip()
