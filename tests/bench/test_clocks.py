"""Clocks and what holds them down, while the GPU works."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.bench import clocks
from doctor.bench.plan import plan
from doctor.bench.results import Device, Results
from doctor.bench.run import devices, run
from doctor.facts.gemm import Clocks, Measurement, Spread
from doctor.facts.origin import State
from doctor.parsers.amd import gpu_metrics
from doctor.report.bench import text
from doctor.system.base import Output, Reading
from doctor.system.live import LiveSystem
from doctor.system.tree import TreeSystem
from tests.bench.test_bench import CHILD, runner

ADDRESS = "0000:05:00.0"


class Smi(LiveSystem):
    """A driver whose nvidia-smi knows some fields."""

    def __init__(self, stdout: str, code: int = 0, knows: str = "clocks_event_reasons.active") -> None:
        super().__init__()
        self.stdout, self.code, self.knows = stdout, code, knows

    def run(self, argv: Any, *, deadline_s: float | None = None, limit: int = 0) -> Reading[Output]:
        assert f"--id={ADDRESS}" in argv
        known = any(self.knows in word for word in argv)
        said = Output(self.code, self.stdout, "", 0.0) if known else Output(2, "Field is not a valid field", "", 0.0)
        return Reading(State.VALUE, "command:nvidia-smi", said)


@pytest.mark.parametrize(
    ("field", "more", "power"),
    [("clocks_event_reasons.active", ", 612.4", 612.4), ("clocks_event_reasons.active", ", [N/A]", 398.12),
     ("clocks_throttle_reasons.active", "", 398.12)],
)  # fmt: skip
def test_clocks_and_throttle_reasons_of_nvidia_by_new_and_old_drivers(field: str, more: str, power: float) -> None:
    """Where the driver has the power of this instant, the mean of the last second does not count."""
    told = clocks.read(Smi(f"1410, 1593, 398.12, 61, 0x0000000000000024{more}\n", knows=field), ADDRESS, "cuda")
    assert (told.sm_mhz, told.memory_mhz, told.power_w) == (1410, 1593, power)
    assert told.throttle == ("power cap", "software thermal slowdown")


def test_what_nvidia_smi_does_not_tell_is_left_out() -> None:
    assert clocks.read(Smi("1410, 1593, [N/A], 61, Not Active, [N/A]"), ADDRESS, "cuda").throttle is None
    assert clocks.read(Smi("", 9), ADDRESS, "cuda") == Clocks()
    assert clocks.read(Smi("x"), "0000:05:00.0; rm", "cuda") == Clocks()
    assert clocks.read(Smi("x"), None, "rocm") == Clocks()


def amd(root: Path, metrics: bytes = b"") -> TreeSystem:
    device = root / f"sys/bus/pci/devices/{ADDRESS}"
    (device / "hwmon/hwmon3").mkdir(parents=True, exist_ok=True)
    rows = (("freq1_input", "2100000000\n"), ("power1_average", "750000000\n"), ("temp1_input", "66000\n"))
    for name, content in rows:
        (device / "hwmon/hwmon3" / name).write_text(content)
    (device / "gpu_metrics").write_bytes(metrics)
    return TreeSystem(root)


def of_mi300x(power_limit: int, *dies: int) -> bytes:
    """Table 1.7: counters at 44, of which the second is the power limit's; clocks of the dies at 296."""
    made = bytearray(312)
    struct.pack_into(f"<{len(dies)}H", made, 296, *dies)
    struct.pack_into("<HBB", made, 0, len(made), 1, 7)
    struct.pack_into("<I", made, 48, power_limit)
    return bytes(made)


def test_clocks_of_amd(tmp_path: Path) -> None:
    told = clocks.read(amd(tmp_path), ADDRESS, "rocm")
    assert (told.sm_mhz, told.power_w, told.temperature_c, told.memory_mhz) == (2100, 750.0, 66.0, None)
    assert told.throttle is None


def test_what_holds_amds_clocks_down_is_told_by_two_readings(tmp_path: Path) -> None:
    watch = clocks.Watch(amd(tmp_path, of_mi300x(100)), ADDRESS, "rocm")
    watch.begin()
    amd(tmp_path, of_mi300x(250))
    watch.look(str(tmp_path), str(tmp_path / "seen-0"))
    told: list[Any] = [watch.seen.throttle]
    assert (tmp_path / "seen-0").exists()
    watch.begin()
    watch.look(str(tmp_path), None)
    assert [*told, watch.seen.throttle] == [("power limit",), ()]


def test_throttling_in_one_of_several_readings_marks_the_result(tmp_path: Path) -> None:
    watch = clocks.Watch(amd(tmp_path, of_mi300x(100)), ADDRESS, "rocm")
    watch.begin()
    watch.look(str(tmp_path), None)
    amd(tmp_path, of_mi300x(250))
    for _ in range(2):
        watch.look(str(tmp_path), None)
    assert (watch.seen.throttle, watch.seen.throttled_readings, watch.seen.readings) == (("power limit",), 1, 3)
    value = Spread(p50=5, low=4, high=6, repeats=100, coverage=0.96)
    one = Measurement(key="k", what="gemm", dtype="-", shape="-", device="cuda:0", unit="ms", value=value,
                      clocks=watch.seen)  # fmt: skip
    assert "at 2100 MHz, 750 W, 66 C, THROTTLED by power limit in 1 of 3 readings" in text({}, [one], {}, [])


def test_a_partition_has_the_clocks_of_its_own_dies(tmp_path: Path) -> None:
    """CPX of an MI300X: hwmon has the clock of the first die for all. Devices of one address are partitions."""
    machine = amd(tmp_path, of_mi300x(100, 2100, 2100, 1300, 2100, 132, 132, 132, 132))
    for part, mhz in (((0, 8), 2100), ((2, 8), 1300), ((1, 4), 1300), (None, 2100)):
        watch = clocks.Watch(machine, ADDRESS, "rocm", part)
        watch.look(str(tmp_path), None)
        assert (watch.seen.sm_mhz, watch.seen.power_w) == (mhz, 750)
    watch = clocks.Watch(amd(tmp_path, b""), ADDRESS, "rocm", (2, 8))
    watch.look(str(tmp_path), None)
    assert watch.seen.sm_mhz is None, "not that of another partition"
    rows = [{"name": "MI300X", "pci": ADDRESS}] * 2 + [{"name": "MI300X", "pci": "0000:06:00.0"}]
    body = CHILD.replace("[" + CHILD.partition("devices=[")[2].partition("]")[0] + "]", repr(rows))
    assert [d.part for d in devices(runner(tmp_path, body), None).devices] == [(0, 2), (1, 2), None]


@pytest.mark.parametrize("path", ["/etc/seen-1", "seen-1", "{folder}/../seen-1", "{folder}/other", "a\0b", 7])
def test_a_measuring_process_can_have_no_other_file_made(path: Any, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    named = path.format(folder=folder) if isinstance(path, str) else path
    clocks.Watch(LiveSystem(), None, None).look(str(folder), named)
    assert list(tmp_path.rglob("*")) == [folder]


def test_of_gpus_that_work_together_the_slowest_counts() -> None:
    each = [Clocks(sm_mhz=2100, throttle=()), Clocks(sm_mhz=1500, power_w=700.0, throttle=("power limit",)), Clocks()]
    assert clocks.slowest(each) == Clocks(sm_mhz=1500, sm_mhz_highest=2100, power_w=700.0, throttle=("power limit",))
    assert clocks.slowest([Clocks(), Clocks()]) == Clocks()
    assert clocks.slowest([]) == Clocks()
    unknown = [Clocks(sm_mhz=5), Clocks(sm_mhz=9, throttle=None)]
    assert clocks.slowest(unknown).throttle is None


def test_the_measuring_process_is_told_that_its_clocks_were_read(tmp_path: Path) -> None:
    """It would go on until then: the clocks of a GPU at rest say nothing."""
    waits = CHILD.replace(
        'send(event="busy", case=key)',
        'path = request["seen"] + "0"\n    send(event="busy", case=key, seen=path)\n'
        "    while not os.path.exists(path): time.sleep(0.01)",
    )
    assert "while not" in waits
    results = Results(devices=(Device("cuda:0", "GPU", ADDRESS),))
    made = runner(tmp_path, waits, silence_s=20)
    made = type(made)(**{**made.__dict__, "system": amd(tmp_path / "tree", of_mi300x(1))})
    results.software = {"hip": "7.0"}
    list(run(made, plan(["gemm"], "quick", "cuda:0"), results))
    assert {m.outcome for m in results.measurements} == {"ran"}
    assert {(m.clocks.sm_mhz, m.clocks.throttle) for m in results.measurements} == {(2100, ())}


def test_collectives_have_the_clocks_of_their_gpus(tmp_path: Path) -> None:
    results = Results(devices=tuple(Device(f"cuda:{n}", "GPU", ADDRESS) for n in range(2)), software={"hip": "7.0"})
    made = runner(tmp_path)
    made = type(made)(**{**made.__dict__, "system": amd(tmp_path / "tree", of_mi300x(1))})
    list(run(made, plan(["collectives"], "full", "cuda:0", 2), results))
    assert {m.clocks.sm_mhz for m in results.measurements} == {2100}
    assert json.loads(results.measurements[0].clocks.model_dump_json())["throttle"] == []


def test_a_table_that_is_none_is_left_out(tmp_path: Path) -> None:
    contents: Sequence[bytes] = (b"", b"\xff" * 8, b"\x08\x00\x01")
    for content in contents:
        assert clocks.read(amd(tmp_path, content), ADDRESS, "rocm").throttle is None
    assert gpu_metrics.held_down(None, None) is None
