"""`doctor bench report`: one result file as an self-contained HTML page: bars against baselines, then each number
with its interval, its peak, its method and the state of the GPU."""

# ruff: noqa: E501 -- markup
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.facts.gemm import Measurement
from doctor.report import picture, roofline
from doctor.report.bench import clocks_line, interval
from doctor.report.markup import tag, text
from doctor.report.page import BOTTOM, top
from doctor.report.words import plural

_HEADS = ("Case", "Device", "Median", "Interval", "Warm cache", "Theoretical peak", "Baseline", "Clocks", "Method")


def page(data: Mapping[str, Any], measurements: Sequence[Measurement]) -> str:
    """`data`: the result file as it was read, `measurements`: its numbers. Whatever it holds is text."""
    held = dict(_baselines(data))
    kinds = {
        str(row["key"]): row["baseline"].get("kind")
        for row in data["measurements"]
        if isinstance(row.get("baseline"), dict)
    }
    return "".join(
        [
            top("doctor bench"),
            *_header(data),
            *_bars(measurements, held),
            *_rooflines(measurements),
            *_table(measurements, held, kinds),
            BOTTOM,
        ]
    )


def _baselines(data: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for row in data["measurements"]:
        baseline = row.get("baseline")
        value = baseline.get("value") if isinstance(baseline, dict) else None
        if isinstance(value, (int, float)) and value > 0:
            yield str(row["key"]), float(value)


def _header(data: Mapping[str, Any]) -> Iterator[str]:
    software = data.get("software")
    devices = data.get("devices")
    rows: list[tuple[str, Any]] = [("measured", data.get("when")), ("level", data.get("level"))]
    rows += list(software.items()) if isinstance(software, dict) else []
    rows += [("device", d.get("name")) for d in (devices if isinstance(devices, list) else ()) if isinstance(d, dict)]
    yield "<header>\n<h1>doctor bench</h1>\n"
    yield tag("dl", "".join(f"<div><dt>{text(n)}</dt><dd>{text(v)}</dd></div>\n" for n, v in rows if v), class_="about")
    yield "</header>\n<main id='main'>\n"


def _bars(measurements: Sequence[Measurement], held: Mapping[str, float]) -> Iterator[str]:
    drawn = picture.bars([m.model_dump(mode="json") for m in measurements], held)
    yield f"<section aria-labelledby='bars'>\n<h2 id='bars'>Measured</h2>\n{drawn or tag('p', 'No case has a number.')}</section>\n"


def _rooflines(measurements: Sequence[Measurement]) -> Iterator[str]:
    lines = "".join(map(roofline.drawn, roofline.rooflines(measurements)))
    if lines:
        yield f"<section aria-labelledby='roofline'>\n<h2 id='roofline'>Roofline</h2>\n{lines}</section>\n"


def _table(measurements: Sequence[Measurement], held: Mapping[str, float], kinds: Mapping[str, Any]) -> Iterator[str]:
    head = '<tr class="head">' + "".join(f'<th scope="col">{name}</th>' for name in _HEADS) + "</tr>\n"
    rows = "".join(_row(one, held.get(one.key), kinds.get(one.key)) for one in measurements)
    yield "<section aria-labelledby='numbers'>\n<h2 id='numbers'>Numbers</h2>\n"
    yield (
        '<div class="wide" role="region" aria-label="Table of numbers" tabindex="0"><table class="rows">\n'
        f"<caption>{plural(len(measurements), 'measurement')}</caption>\n{head}{rows}</table></div>\n</section>\n"
    )


def _row(one: Measurement, baseline: float | None, kind: Any) -> str:
    value = one.value
    name = f"{one.what} {one.dtype} {one.shape}" + (f" ({one.variant})" if one.variant else "")
    if value is None:
        cells = [one.device, f"{one.outcome}: {one.detail}" if one.detail else one.outcome, *[""] * 6]
    else:
        wrong = " WRONG VALUES" if one.outcome == "wrong" else ""
        cells = [
            one.device,
            f"{value.p50:.4g} {one.unit}{wrong}",
            interval(value),
            f"{one.warm.p50:.4g} {one.unit} ({interval(one.warm)})" if one.warm else "",
            f"{value.p50 / one.peak:.0%} of {one.peak:g}" if one.peak else "not known",
            f"{value.p50 / baseline:.0%} of {baseline:g}{f', {kind}' if kind else ''}" if baseline else "no baseline",
            clocks_line(one.clocks),
            one.method or "",
        ]
    written = "".join(f'<td data-label="{h}">{text(c)}</td>' for h, c in zip(_HEADS[1:], cells, strict=True))
    return f'<tr><th scope="row">{text(name)}</th>{written}</tr>\n'
