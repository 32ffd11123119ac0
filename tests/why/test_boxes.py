"""What a container is made with, in parts that can be given to another one; the engine is a stand-in here."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.system.engine_api import EngineError, Ran
from doctor.system.engine_sockets import Place
from doctor.why.boxes import Box, BoxTrial, config_of, items, tried
from doctor.why.layers import Layers, slots
from doctor.why.minimal import minimal

CONFIG = {"WorkingDir": "/work", "User": "", "Env": ["A=1", "PATH=/bin"]}
HOST = {
    "ShmSize": 67108864,
    "CapAdd": ["SYS_PTRACE"],
    "Ulimits": [{"Name": "nofile", "Soft": 64, "Hard": 64}],
    "Devices": [{"PathOnHost": "/dev/kfd", "PathInContainer": "/dev/kfd", "CgroupPermissions": "rwm"}],
    "DeviceRequests": [{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]]}],
    "Binds": ["/home/u/data:/data:rw,Z"],
    "Sysctls": {"net.core.somaxconn": "1024"},
}


def test_what_it_is_made_with_makes_another_one() -> None:
    made = config_of(items(CONFIG, HOST).values(), ["A", "OF_THE_IMAGE"], ["python", "-c", "1"])
    assert made["Entrypoint"] == ["python"]
    assert made["Cmd"] == ["-c", "1"]
    assert made["Env"] == ["A=1", "PATH=/bin", "OF_THE_IMAGE"]
    assert (made["WorkingDir"], made["User"]) == ("/work", "0")
    host = made["HostConfig"]
    assert {key: host[key] for key in HOST if key != "Binds"} == {key: HOST[key] for key in HOST if key != "Binds"}


def test_podmans_names_of_limits_are_those_that_it_takes() -> None:
    made = items({}, {"Ulimits": [{"Name": "RLIMIT_NOFILE", "Soft": 64, "Hard": 64}]})
    assert ("option", "--ulimit nofile") in made
    assert config_of(made.values(), [], ["true"])["HostConfig"]["Ulimits"] == HOST["Ulimits"]


def test_what_it_mounts_is_read_only_and_not_relabelled() -> None:
    mounts = [{"Type": "bind", "Source": "/home/u", "Target": "/home", "ReadOnly": False}]
    host = config_of(items({}, {**HOST, "Mounts": mounts}).values(), [], ["true"])["HostConfig"]
    assert host["Binds"] == ["/home/u/data:/data:ro"]
    assert host["Mounts"] == [{"Type": "bind", "Source": "/home/u", "Target": "/home", "ReadOnly": True}]


def content(archive: tarfile.TarFile, name: str) -> bytes:
    held = archive.extractfile(name)
    assert held
    return held.read()


class Engine:
    """Runs no container: `works` decides by the image and the configuration."""

    where = Place("unix:///nowhere.sock")

    def __init__(self, images: Mapping[str, Any], works: Callable[[str, Mapping[str, Any]], bool | None]) -> None:
        self.images, self.works = dict(images), works
        self.removed: list[str] = []

    def image(self, reference: str) -> Mapping[str, Any] | None:
        return self.images.get(reference)

    def root(self) -> str | None:
        return None

    def tried(self, image: str, config: Mapping[str, Any], **_: Any) -> Ran | None:
        good = self.works(image, config)
        return None if good is None else Ran(0 if good else 1, "", "")

    def save(self, reference: str, archive: Path) -> None:
        layers = self.images[reference]["RootFS"]["Layers"]
        rows = [{"created_by": f"RUN /bin/sh -c make {name}"} for name in layers]
        config = {"rootfs": {"type": "layers", "diff_ids": layers}, "history": rows}
        names = [f"blobs/{name}" for name in layers]
        manifest = [{"Config": "config.json", "Layers": names}]
        contents = {"manifest.json": manifest, "config.json": config, **{f"blobs/{n}": n for n in layers}}
        with tarfile.open(archive, "w") as out:
            for name, content in contents.items():
                raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
                row = tarfile.TarInfo(name)
                row.size = len(raw)
                out.addfile(row, io.BytesIO(raw))

    def load(self, archive: Path) -> None:
        with tarfile.open(archive) as held:
            [listed] = json.loads(content(held, "manifest.json"))
            ids = json.loads(content(held, listed["Config"]))["rootfs"]["diff_ids"]
            assert [content(held, name).decode() for name in listed["Layers"]] == ids
        [tag] = listed["RepoTags"]
        self.images[tag] = {"RootFS": {"Layers": ids}}

    def remove_image(self, reference: str) -> None:
        self.removed.append(reference)


def image(*layers: str) -> dict[str, Any]:
    return {"RootFS": {"Layers": list(layers)}, "Size": 1, "Config": {"Env": ["PATH=/bin"]}}


def trial(engine: Engine, good: Box, bad: Box, folder: Path) -> BoxTrial:
    layers = Layers(engine, good.image, bad.image, folder, lambda _line: None)  # type: ignore[arg-type]
    return BoxTrial(engine, good, bad, layers, folder)  # type: ignore[arg-type]


def smallest(made: BoxTrial) -> tuple[Any, ...]:
    return minimal(made.found, lambda which: made.run(which, ["true"], 5).code == 0)


def test_an_option_and_a_variable_that_only_together_do_it(tmp_path: Path) -> None:
    def works(_image: str, config: Mapping[str, Any]) -> bool:
        return "A=1" in config["Env"] and "Ulimits" not in config["HostConfig"]

    good = Box("docker", "g", "i", items({"Env": ["A=1", "C=1"]}, {"ShmSize": 1 << 30, "CapAdd": ["SYS_NICE"]}))
    bad = Box("docker", "b", "i", items({"Env": ["A=2", "B=1"]}, {"Ulimits": HOST["Ulimits"]}))
    made = trial(Engine({"i": image("base")}, works), good, bad, tmp_path)
    assert set(smallest(made)) == {("variable", "A"), ("option", "--ulimit nofile")}
    assert made.values(("option", "--ulimit nofile")) == (None, "64:64")


def test_one_layer_of_several_and_what_was_loaded_goes(tmp_path: Path) -> None:
    images = {"g": image("base", "g1", "g2", "g3", "g4"), "b": image("base", "b1", "b2", "b3")}
    engine = Engine(images, lambda name, _config: "g2" in engine.images[name]["RootFS"]["Layers"])
    made = trial(engine, Box("docker", "g", "g", {}), Box("docker", "b", "b", {}), tmp_path)
    assert made.found == (("layer", "1"), ("layer", "2"), ("layer", "3"), ("layer", "4"))
    assert smallest(made) == (("layer", "2"),)
    assert made.values(("layer", "2")) == ("make g2", "make b2")
    assert made.values(("layer", "4")) == ("make g4", None)
    made.layers.close()
    assert engine.removed == [name for name in engine.images if name.startswith("doctor-why-")] != []


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ("ab", "ab", ((0, 0), (1, 1))),
        ("abc", "a", ((0, 0), (1, None), (2, None))),
        ("axc", "abc", ((0, 0), (1, 1), (2, 2))),
        ("", "b", ((None, 0),)),
    ],
)
def test_layers_that_both_have_stay(good: str, bad: str, expected: Sequence[Any]) -> None:
    assert slots(good, bad) == expected


def test_what_the_engine_refuses_fails_and_what_is_late_too(tmp_path: Path) -> None:
    def refuses(_image: str, _config: Mapping[str, Any]) -> bool:
        raise EngineError("docker: no such device /dev/kfd")

    box = Box("docker", "b", "i", items(CONFIG, HOST))
    for works, why in ((refuses, "docker: no such device /dev/kfd"), (lambda *_: None, "no end within 5 s")):
        ended = trial(Engine({"i": image("base")}, works), box, box, tmp_path).run((), ["true"], 5)
        assert (ended.code, ended.why) == (None, why)


def test_two_engines_are_refused() -> None:
    sides = (Box("docker", "a", "i", {}), Box("podman", "b", "i", {}))
    with pytest.raises(InputError, match="--prove needs one engine"), tried(*sides, lambda _line: None):
        pass
