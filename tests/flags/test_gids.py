"""NCCL_IB_GID_INDEX against tables of GIDs as sysfs has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.flags import gids
from doctor.system.tree import TreeSystem
from tests.flags.situations import of

NOTHING = "0000:0000:0000:0000:0000:0000:0000:0000"
V4 = "0000:0000:0000:0000:0000:ffff:0a00:0001"
LINK = "fe80:0000:0000:0000:0e42:a1ff:fe00:0001"


def port(root: Path, device: str, layer: str = "Ethernet", state: str = "4: ACTIVE") -> None:
    """0: v1 link-local, 1: v2 link-local, 2: v1 IPv4, 3: v2 IPv4, 4: nothing."""
    path = root / f"sys/class/infiniband/{device}/ports/1"
    (path / "gids").mkdir(parents=True)
    (path / "gid_attrs/types").mkdir(parents=True)
    (path / "link_layer").write_text(f"{layer}\n")
    (path / "state").write_text(f"{state}\n")
    for index, address in enumerate((LINK, LINK, V4, V4, NOTHING)):
        (path / f"gids/{index}").write_text(f"{address}\n")
        if address != NOTHING:  # reading the kind of an empty entry fails
            (path / f"gid_attrs/types/{index}").write_text("RoCE v2\n" if index % 2 else "IB/RoCE v1\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    port(tmp_path, "mlx5_0")
    port(tmp_path, "mlx5_1")
    port(tmp_path, "mlx5_2", state="1: DOWN")
    port(tmp_path, "mlx5_3", layer="InfiniBand")
    return tmp_path


def said(root: Path, line: str) -> list[str]:
    return [f.summary for f in gids.look(TreeSystem(root), of(line))]


def test_an_index_of_roce_v1(root: Path) -> None:
    (found,) = said(root, "NCCL_IB_GID_INDEX=2")
    assert found.startswith("NCCL_IB_GID_INDEX=2 on mlx5_0, mlx5_1: the address at that index is of RoCE v1")


def test_an_index_without_an_address(root: Path) -> None:
    (found,) = said(root, "NCCL_IB_GID_INDEX=4 NCCL_IB_HCA=mlx5_1")
    assert found.startswith("NCCL_IB_GID_INDEX=4 on mlx5_1: no address")


@pytest.mark.parametrize(
    "line",
    [
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_GID_INDEX=-1",
        "",
        "NCCL_IB_GID_INDEX=9",
        "NCCL_IB_GID_INDEX=2 NCCL_IB_HCA=mlx5_3",
        "NCCL_IB_GID_INDEX=2 ctx:!multi_node",
    ],
)
def test_what_is_right_or_not_known_is_nothing_to_say(root: Path, line: str) -> None:
    assert said(root, line) == []


def test_without_rdma_nothing_is_said(tmp_path: Path) -> None:
    assert said(tmp_path, "NCCL_IB_GID_INDEX=2") == []
