"""Pictures of an HTML report, drawn as SVG in the page: how GPUs and NICs hang on NUMA nodes, and what was measured.

Colour is never alone: what is wrong has a sign too, and each picture has its words for those who don't see it.
"""

# ruff: noqa: E501 -- markup
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from doctor.report.markup import Data, text
from doctor.report.words import plural

_BOX, _HIGH, _GAP, _PAD = 186, 62, 14, 16
_ROW = 4
"""Devices side by side: so that the picture fits the page."""
_MOST = 64
"""Devices that a picture shows."""


class _Placed(NamedTuple):
    x: float
    y: float

    @property
    def top(self) -> tuple[float, float]:
        return self.x + _BOX / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        return self.x + _BOX / 2, self.y + _HIGH


def topology(machine: Data, findings: Iterable[Data]) -> str:
    """ "" where there is no GPU. Devices whose NUMA node is not known are in a box of their own. Nodes are one below the other."""
    gpus = list(machine.get("gpus") or ())[:_MOST]
    if not gpus:
        return ""
    nics = list(machine.get("rdma") or ())[:_MOST]
    wrong = {f["subject"]["id"] for f in findings if f["severity"] == "error"}
    boxes, places, width, height = _laid_out(gpus, nics)
    lines = [*_links(gpus, places), *_near(nics, places)]
    drawn = [_gpu(g, places[_id(g)], wrong) for g in gpus] + [_nic(n, places[_id(n)], wrong) for n in nics]
    known = len({g.get("numa_node") for g in gpus if g.get("numa_node") is not None})
    caption = f"{plural(len(gpus), 'GPU')} and {plural(len(nics), 'NIC')} on {plural(known, 'known NUMA node')}"
    return _figure(caption, width, height, [*boxes, *lines, *drawn], _hint(lines, nics, wrong))


def _hint(lines: list[str], nics: list[Data], wrong: set[str]) -> str:
    """What the signs mean that are in the picture."""
    signs = [
        ("solid: links between GPUs", any('class="link' in line for line in lines)),
        ("dashed: a link that is down", any("down" in line for line in lines)),
        ("dotted: the GPU nearest to a NIC", any("near_gpu" in nic and nic["near_gpu"] for nic in nics)),
        ("× has an error", bool(wrong)),
    ]
    hints = "; ".join(text for text, there in signs if there)
    return f"{hints[:1].upper()}{hints[1:]}." if hints else ""


def _figure(caption: str, width: float, height: float, parts: Iterable[str], hint: str) -> str:
    svg = f'<svg role="img" aria-label="{text(caption)}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">\n{"".join(parts)}</svg>'
    return f'<figure><div class="wide" role="region" aria-label="Picture: {text(caption)}" tabindex="0">{svg}</div><figcaption>{text(caption)}. {text(hint)}</figcaption></figure>\n'


def _id(device: Data) -> str:
    return str(device.get("pci_address") or device.get("key"))


def _numa(device: Data) -> str:
    node = device.get("numa_node")
    return "NUMA node not known" if node is None else "no NUMA" if node == -1 else f"NUMA node {node}"


def _laid_out(gpus: list[Data], nics: list[Data]) -> tuple[list[str], dict[str, _Placed], float, float]:
    boxes, places, y, widest = [], {}, 20.0, 0.0
    for name in sorted({_numa(d) for d in (*gpus, *nics)}):
        inside = [[d for d in kind if _numa(d) == name] for kind in (gpus, nics)]
        wide = min(_ROW, max(map(len, inside))) * (_BOX + _GAP) - _GAP + 2 * _PAD
        at_y = y + 44
        for members in inside:
            for at, device in enumerate(members):
                places[_id(device)] = _Placed(
                    _PAD + (at % _ROW) * (_BOX + _GAP), at_y + (at // _ROW) * (_HIGH + _GAP * 2)
                )
            at_y += -(-len(members) // _ROW) * (_HIGH + _GAP * 2)
        boxes.append(f'<rect class="numa" x="0" y="{y:g}" width="{wide:g}" height="{at_y - y - _GAP:g}" rx="8"/>\n')
        boxes.append(f'<text class="soft" x="{_PAD}" y="{y + 18:g}">{text(name)}</text>\n')
        y, widest = at_y + 6, max(widest, wide)
    return boxes, places, widest, y


def _links(gpus: list[Data], places: Mapping[str, _Placed]) -> Iterator[str]:
    """One line a pair of GPUs; down where any of its links is known to be."""
    pairs: dict[tuple[str, str], bool] = {}
    for gpu in gpus:
        for link in gpu.get("links") or ():
            peer = str(link.get("peer"))
            if peer in places and peer != _id(gpu):
                pair = (min(_id(gpu), peer), max(_id(gpu), peer))
                pairs[pair] = pairs.get(pair, True) and link.get("up") is not False
    for (one, other), up in sorted(pairs.items(), key=lambda row: (not row[1], row[0])):  # those that are down on top
        (x1, y1), (x2, y2) = places[one].top, places[other].top
        bend = min(y1, y2) - 8 - min(abs(x2 - x1) / 24, 22)
        look = 'class="link"' if up else 'class="link down" stroke-dasharray="6 4"'
        yield f'<path {look} d="M{x1:g} {y1:g} Q{(x1 + x2) / 2:g} {bend:g} {x2:g} {y2:g}"/>\n'


def _near(nics: list[Data], places: Mapping[str, _Placed]) -> Iterator[str]:
    for nic in nics:
        gpu = places.get(str(nic.get("near_gpu")))
        if gpu:
            (x1, y1), (x2, y2) = gpu.bottom, places[_id(nic)].top
            x1 += _BOX / 2 - 16
            gap = gpu.x + _BOX + _GAP / 2  # between two columns, so that it runs behind no other device
            yield (
                f'<path class="near" d="M{x1:g} {y1:g} V{y1 + 7:g} H{gap:g} V{y2 - 9:g} H{x2:g} V{y2:g}" '
                'stroke-dasharray="2 3"/>\n'
            )


def _gpu(gpu: Data, at: _Placed, wrong: set[str]) -> str:
    links = gpu.get("links") or ()
    up = sum(bool(k.get("up")) for k in links)
    width = (gpu.get("link") or {}).get("width")
    more = [f"{up}/{len(links)} links up"] * bool(links) + [f"PCIe ×{width}"] * bool(width)
    return _device(
        at, f"GPU {_id(gpu)}", str(gpu.get("name") or gpu.get("pci_id") or "?"), ", ".join(more), _id(gpu) in wrong
    )


def _nic(nic: Data, at: _Placed, wrong: set[str]) -> str:
    state = " ".join(str(nic[f]) for f in ("state", "rate") if nic.get(f))
    near = f"near {nic['near_gpu']}" if nic.get("near_gpu") else str(nic.get("link_layer") or "RDMA")
    return _device(at, f"NIC {nic.get('key')}", near, state, _id(nic) in wrong, round_=True)


def _device(at: _Placed, head: str, name: str, more: str, wrong: bool, *, round_: bool = False) -> str:
    rows = ((("× " if wrong else "") + head, 18), (name, 36), (more, 53))
    lines = "".join(
        f'<text x="{at.x + 8:g}" y="{at.y + y}">{text(row if len(row) <= 26 else row[:25] + "…")}</text>'
        for row, y in rows
        if row
    )
    title = text(f"{head}: {name}{f', {more}' if more else ''}{', has an error' if wrong else ''}")
    shape = f'<rect x="{at.x:g}" y="{at.y:g}" width="{_BOX}" height="{_HIGH}" rx="{14 if round_ else 4}"/>'
    return f'<g class="device{" odd" if wrong else ""}"><title>{title}</title>{shape}{lines}</g>\n'


def bars(bench: Iterable[Data], baselines: Mapping[str, float]) -> str:
    """What was measured, each against its baseline where `baselines` has one for its key; bars of one unit share a
    scale. "" where nothing was measured."""
    rows = [m for m in bench if m.get("value")][:1000]
    several = len({m["device"] for m in rows}) > 1
    if not rows:
        return ""
    most: dict[str, float] = {}
    for row in rows:
        there = (row["value"]["high"], baselines.get(row["key"], 0.0), most.get(row["unit"], 0.0))
        most[row["unit"]] = max(there)
    compared = sum(row["key"] in baselines for row in rows)
    without = ", no baseline" if compared else ""
    drawn = "".join(
        _bar(row, most[row["unit"]] or 1.0, baselines.get(row["key"]), without, f" {row['device']}" if several else "")
        for row in rows
    )
    words = f"{plural(len(rows), 'measurement')}, {compared} with a baseline"
    hint = "Bar: the median; thin line: its interval" + "; upright: the baseline" * bool(compared)
    return f'<figure><ul class="bars">\n{drawn}</ul><figcaption>{text(words)}. {hint}.</figcaption></figure>\n'


def _bar(row: Data, most: float, baseline: float | None, without: str, device: str) -> str:
    """A line of words with a bar that is as wide as there is room. `without`: words where there is no baseline."""
    value, scale = row["value"], 100 / most
    against = f", {value['p50'] / baseline:.0%} of {baseline:g}" if baseline else without
    low, high = value["low"] * scale, value["high"] * scale
    parts = [
        f'<rect class="bar" x="0" y="2" width="{max(value["p50"] * scale, 0.3):.2f}" height="16"/>',
        f'<line class="base" x1="{low:.2f}" y1="10" x2="{high:.2f}" y2="10"/>',
    ]
    if baseline:
        parts.append(f'<line class="base" x1="{baseline * scale:.2f}" y1="0" x2="{baseline * scale:.2f}" y2="20"/>')
    svg = f'<svg aria-hidden="true" viewBox="0 0 100 20" preserveAspectRatio="none">{"".join(parts)}</svg>'
    name, words = f"{row['what']} {row['dtype']} {row['shape']}{device}", f"{value['p50']:.4g} {row['unit']}{against}"
    return f"<li><span>{text(name)}</span>{svg}<span>{text(words)}</span></li>\n"
