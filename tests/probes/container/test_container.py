"""Inside a container or not: marks are proof, and absence needs proof of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts import FactSheet
from doctor.probes.container import container
from tests.probes.pretend import Pretend, values

ID = "0123456789abcdef" * 4
HOST = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
OVERLAY = "27 1 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/l\n"


@pytest.mark.parametrize(
    ("files", "environ", "engine"),
    [
        ({".dockerenv": "", "proc/self/mountinfo": OVERLAY}, {}, "docker"),
        ({"proc/1/cgroup": f"5:devices:/docker/{ID}\n0::/\n"}, {}, "docker"),
        ({"run/.containerenv": 'engine="podman-4.9"\n', "proc/1/cgroup": "0::/\n"}, {}, "podman"),
        ({"proc/1/cgroup": f"0::/kubepods.slice/cri-containerd-{ID}.scope\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": "0::/\n"}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/init.scope\n", "run/systemd/container": "lxc\n"}, {}, "lxc"),
        ({".singularity.d/runscript": "", "proc/1/cgroup": "0::/init.scope\n"}, {}, "apptainer"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {"APPTAINER_CONTAINER": "/images/rocm.sif"}, "apptainer"),
        ({"proc/1/cgroup": f"11:memory:/kubepods/burstable/pod1a2b/{ID}\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": f"0::/kubepods-besteffort-pod1.slice:cri-containerd:{ID}\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": f"11:memory:/default/{ID}\n"}, {}, "containerd"),
        ({"proc/1/cgroup": f"0::/system.slice/nerdctl-{ID}.scope\n"}, {}, "containerd"),
        ({"proc/1/cgroup": f"0::/machine.slice/libpod-{ID}.scope/container\n"}, {}, "podman"),
        ({"run/.containerenv": "", "proc/1/cgroup": "0::/\n", "proc/self/mountinfo": OVERLAY}, {}, "podman"),
        ({"proc/1/cgroup": "0::/\n"}, {"container": "lxc"}, "lxc"),
        ({"proc/1/cgroup": "0::/init.scope\n", "proc/1/environ": "PATH=/bin\0container=lxc\0"}, {}, "lxc"),
        ({"proc/1/cgroup": "0::/lxc.payload.web/init.scope\n"}, {}, "lxc"),
        ({"proc/1/cgroup": "0::/init.scope\n", "proc/1/environ": "container=enroot\0"}, {}, "enroot"),
        ({"proc/1/cgroup": "0::/\n"}, {"container": "oci"}, None),
    ],
)
def test_engines(tmp_path: Path, files: dict[str, str], environ: dict[str, str], engine: str | None) -> None:
    sheet = FactSheet()
    container.probe(Pretend(tmp_path, files, environ), sheet)
    told = values(sheet)
    assert (told["container.inside"], told["container.engine"]) == (True, engine)


def test_the_seccomp_filter_and_the_capabilities_that_matter(tmp_path: Path) -> None:
    status = "Name:\tbash\nCapBnd:\t00000000a80c25fb\nSeccomp:\t2\n"  # SYS_PTRACE was added, SYS_NICE not
    sheet = FactSheet()
    container.probe(Pretend(tmp_path, {".dockerenv": "", "proc/self/status": status}, {}), sheet)
    assert sheet.get("container.seccomp") == "filter"
    assert sheet.get("container.capabilities") == ["SYS_PTRACE"]


@pytest.mark.parametrize(
    ("files", "inside"),
    [
        ({"proc/1/cgroup": "0::/init.scope\n", "proc/self/mountinfo": HOST}, False),
        ({"proc/1/cgroup": "0::/\n", "proc/self/mountinfo": HOST, ".dockerenv": ""}, False),
        ({"proc/1/cgroup": "0::/\n", "proc/self/mountinfo": OVERLAY}, None),
        ({"etc/hostname": "x"}, None),
    ],
)
def test_absence(tmp_path: Path, files: dict[str, str], inside: bool | None) -> None:
    sheet = FactSheet()
    container.probe(Pretend(tmp_path, files, {}), sheet)
    assert values(sheet)["container.inside"] is inside
