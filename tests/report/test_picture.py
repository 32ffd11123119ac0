"""The pictures say what the facts say, in words too, and hold whatever a machine calls its parts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from doctor.facts import Snapshot
from doctor.report.formats import html
from doctor.report.formats.json import as_data
from doctor.report.notebook import Shown
from doctor.report.picture import bars, topology
from tests.report.example import HOSTILE
from tests.report.machine_with_links import BUSES, address, machine, report

SVG = re.compile(r"<svg.*?</svg>", re.S)


def drawn(text: str) -> ElementTree.Element:
    match = SVG.search(text)
    assert match
    return ElementTree.fromstring(match[0])


def titles(text: str) -> list[str]:
    return [str(e.text) for svg in SVG.findall(text) for e in ElementTree.fromstring(svg).iter() if "title" in e.tag]


def rows(text: str) -> list[str]:
    """The words of each bar."""
    (found,) = re.findall(r'<ul class="bars">.*?</ul>', text, re.S)
    return [": ".join(str(e.text) for e in row.iter("span")) for row in ElementTree.fromstring(found)]


def topology_of(name: str = "NVIDIA H100 80GB HBM3") -> str:
    data = as_data(report(name), unredacted=True)
    return topology(data["snapshot"], data["findings"])


def test_every_gpu_and_nic_is_there_with_its_links_and_the_one_with_an_error_is_marked() -> None:
    told = titles(topology_of())
    assert [t.split(":")[0] for t in told] == ["GPU 0000"] * 8 + [f"NIC mlx5_{n}" for n in range(4)]
    (wrong,) = [t for t in told if "has an error" in t]
    assert wrong == f"GPU {address('4e')}: NVIDIA H100 80GB HBM3, 7/7 links up, PCIe ×8, has an error"
    assert f"GPU {address('1b')}: NVIDIA H100 80GB HBM3, 6/7 links up, PCIe ×16" in told


def test_each_pair_has_one_line_and_the_broken_one_is_dashed() -> None:
    paths = [e for e in drawn(topology_of()).iter() if e.get("class", "").startswith("link")]
    assert len(paths) == len(BUSES) * (len(BUSES) - 1) // 2
    assert len([p for p in paths if p.get("stroke-dasharray")]) == 1


def test_the_line_from_a_nic_to_its_gpu_runs_behind_no_other_device() -> None:
    svg = drawn(topology_of())
    rects = [
        tuple(float(e.get(k, 0)) for k in ("x", "y", "width", "height"))
        for g in svg.iter() if g.get("class", "").startswith("device") for e in g if e.tag.endswith("rect")
    ]  # fmt: skip
    ways = [
        re.findall(r"([MVH])([0-9.]+)(?: ([0-9.]+))?", e.get("d", "")) for e in svg.iter() if e.get("class") == "near"
    ]
    assert len(ways) == 4
    for way in ways:
        x, y = float(way[0][1]), float(way[0][2])
        for letter, to, _ in way[1:]:
            x2, y2 = (float(to), y) if letter == "H" else (x, float(to))
            low, high = (min(x, x2), min(y, y2)), (max(x, x2), max(y, y2))
            assert not [
                r for r in rects if low[0] < r[0] + r[2] and high[0] > r[0] and low[1] < r[1] + r[3] and high[1] > r[1]
            ]
            x, y = x2, y2


def test_boxes_do_not_overlap_and_stay_within_the_picture() -> None:
    svg = drawn(topology_of())
    width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
    rects = [
        tuple(float(e.get(k, 0)) for k in ("x", "y", "width", "height"))
        for g in svg.iter()
        if g.get("class", "").startswith("device")
        for e in g
        if e.tag.endswith("rect")
    ]
    for at, (x, y, w, h) in enumerate(rects):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for ox, oy, ow, oh in rects[at + 1 :]:
            assert x + w <= ox or ox + ow <= x or y + h <= oy or oy + oh <= y


def test_without_gpus_or_measurements_there_is_no_picture() -> None:
    assert topology(Snapshot().model_dump(mode="json"), []) == ""
    assert bars([], {}) == ""


def test_bars_are_held_against_the_baseline_of_their_case() -> None:
    bench = machine().model_dump(mode="json")["bench"]
    told = rows(bars(bench, {"gemm matmul/bf16/8192x8192x8192@cuda:0": 700.0}))
    assert sorted(told) == [
        "gemm linear bf16 8192x8192x8192: 430 TFLOP/s, no baseline",
        "gemm matmul bf16 8192x8192x8192: 610 TFLOP/s, 87% of 700",
    ]


def test_hostile_names_stay_text() -> None:
    evil = HOSTILE + "</text><script>alert(1)</script>\"'"
    text = topology_of(evil)
    assert drawn(text) is not None
    assert "<script" not in text
    assert "\x1b" not in html.render(report(evil))


def test_a_notebook_gets_a_frame_without_script_and_words() -> None:
    shown = Shown(report(HOSTILE + '"><script>'))
    frame = ElementTree.fromstring(shown._repr_html_())
    assert frame.get("sandbox") == ""
    assert str(frame.get("srcdoc")).startswith("<!doctype html>")
    assert repr(shown) == "<doctor report: error, 1 findings>"
