"""A daemon of the tests' own with Docker's classic image store, where BuildKit writes no OCI archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.images import engine as engines
from doctor.images import oci
from doctor.images.engine import Request
from doctor.system.engine_api import Api, connected
from tests.docker.second_daemon import second_daemon

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def classic(engine: str) -> Iterator[str]:
    """Where it listens."""
    with second_daemon({"features": {"containerd-snapshotter": False}}) as address:
        yield address


@pytest.fixture
def api(classic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setenv("DOCKER_HOST", classic)  # for buildx
    with connected("docker") as connection:
        yield connection


def test_what_the_classic_store_can_t_is_known_beforehand(api: Api, tmp_path: Path) -> None:
    assert engines.builder(api).exports is False
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    with pytest.raises(engines.BuildFailed, match="OCI exporter is not supported"):
        engines.build(Request(tmp_path, tmp_path / "image.tar", "doctor/classic", 7))


def test_there_an_image_is_built_into_the_engine_and_saved_from_it(api: Api, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /there\n")
    request = Request(tmp_path, tmp_path / "image.tar", "doctor/classic:latest", 7, exports=False)
    engines.build(request)
    api.save(request.tag, request.output)
    image = oci.read(request.output)
    assert [list(oci.entries(image, layer)) for layer in image.layers] == [["there"]]
