"""CDI specs: what AMD's and NVIDIA's generators write, and what is none."""

from __future__ import annotations

import json

import pytest

from doctor.errors import ParserError
from doctor.parsers.container import cdi_spec
from doctor.parsers.container.cdi_spec import CdiSpec, Edits
from tests.each import each

AMD = """{
  "cdiVersion": "0.6.0",
  "kind": "amd.com/gpu",
  "devices": [
    {"name": "0", "containerEdits": {"deviceNodes": [
      {"path": "/dev/kfd", "hostPath": "/dev/kfd", "type": "c", "major": 510, "permissions": "rw", "gid": 992},
      {"path": "/dev/dri/renderD128", "permissions": "rw", "gid": 992}]}}
  ],
  "containerEdits": {}
}"""
NVIDIA = """---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidiactl
  additionalGids: [44, -1, "x"]
  mounts:
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08
    options: [ro, nosuid]
"""


def test_amd_s_with_the_gid_on_each_node() -> None:
    nodes = ("/dev/kfd", "/dev/dri/renderD128")
    owned = tuple((path, 992) for path in nodes)
    edits = Edits(nodes, owners=owned, majors=(("/dev/kfd", 510),))
    assert cdi_spec.read(AMD) == CdiSpec("0.6.0", "amd.com/gpu", {"0": edits}, Edits())


def test_nvidia_s_with_a_library() -> None:
    library = "/usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08"
    spec = cdi_spec.read(NVIDIA.replace("\n", "\r\n"))
    assert spec.common == Edits(("/dev/nvidiactl",), (library,), (44,))
    assert spec.needs() == ("/dev/nvidia0", "/dev/nvidiactl", library)


@each("text", ["", "{}", "[]", "kind: a", "cdiVersion: 0.5.0", "{", "\x1b[31m", AMD[:200], "a: &a [*a]"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ParserError):
        cdi_spec.read(text)


@pytest.mark.parametrize("gid", [True, "992", -1, 1 << 32, 9.5, None])
def test_a_gid_that_is_none_is_not_told(gid: object) -> None:
    table = json.loads(AMD)
    table["devices"][0]["containerEdits"]["deviceNodes"] = [{"path": "/dev/kfd", "gid": gid}]
    assert cdi_spec.read(json.dumps(table)).devices["0"] == Edits(("/dev/kfd",))


def test_numbers_of_nodes() -> None:
    assert cdi_spec.read(AMD).majors() == {"/dev/kfd": 510}
    assert cdi_spec.read(NVIDIA).majors() == {}
