"""The pages in a real headless Chromium: nothing leaves them, axe finds no fault, they fit a narrow window and paper.

The keyboard reaches what a mouse does, and light and dark are two looks. PICTURES=FOLDER keeps what was seen.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from doctor.engine.judge import judge
from doctor.fleet.page import render as fleet_page
from doctor.knowledge import Knowledge
from doctor.report import bench_html
from doctor.report.formats import html
from doctor.triage.read import read_text
from tests.docker.conftest import unmet
from tests.fleet.test_verdict import fleet, node
from tests.report import example, machine_with_links
from tests.report.test_roofline import H200

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("default")]
TICKET = b"""$ python train.py
RuntimeError: CUDA error: no kernel image is available for execution on the device
$ nvidia-smi -L
GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-12345678-1234-1234-1234-123456789abc)
$ python -c 'import torch; print(torch.__version__, torch.cuda.get_arch_list())'
2.5.1+cu124 ['sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_90']
"""


def bench_page() -> str:
    """A result file with names that are as long as they get."""
    rows = [row.model_copy(update={"method": "100 repeats after warm-up; ways in turn"}) for row in H200]
    return bench_html.page({"measurements": [{"key": H200[1].key, "baseline": {"value": 800.0}}, {"key": "x"}]}, rows)


PAGES: dict[str, Callable[[], str]] = {
    "hostile": lambda: html.render(example.report(summary=example.HOSTILE)),
    "machine": lambda: html.render(machine_with_links.report()),
    "bench": lambda: html.render(machine_with_links.measured_mi300x()),
    "bench-report": bench_page,
    "triage": lambda: html.render(judge(read_text([TICKET]), Knowledge())),
    "fleet": lambda: fleet_page(
        fleet((9, node()), (1, node(nvidia_driver__version="570.10")), (3, node(kernel__release="6.9")))
    ),
}
NARROW, WIDE = 380, 1200
Page = Any


@pytest.fixture(scope="module")
def axe() -> str:
    """The program of axe-core, as axe-playwright-python carries it."""
    found = find_spec("axe_playwright_python")
    if not found or not found.submodule_search_locations:
        unmet("axe-playwright-python is not installed (pip install --group engine)")
        raise AssertionError
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not find_spec("playwright"):
        unmet("playwright is not installed (pip install --group engine)")
    if not (chromium := shutil.which("chromium")):
        unmet("chromium not found (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., tuple[Page, list[str]]]]:
    """`opened(name or HTML, …)`: the page, and every address that it asks for."""
    contexts = []

    def start(text: str, scheme: str = "light", width: int = WIDE) -> tuple[Page, list[str]]:
        file = tmp_path / "page.html"
        file.write_text(PAGES[text]() if text in PAGES else text)
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return page, asked

    yield start
    for context in contexts:
        context.close()


def unfold(page: Page) -> None:
    for part in page.query_selector_all("details"):
        part.evaluate("e => { e.open = true }")


def kept(page: Page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize("name", ["fleet", "bench-report"])
def test_a_phone_shows_every_cell_of_the_tables_and_every_bar(name: str, opened: Any) -> None:
    page, _ = opened(name, width=390)
    kept(page, f"{name}-phone")
    drawn = "[...document.querySelectorAll('.bars *, svg.fit')]"
    assert page.evaluate(f"{drawn}.filter(e => e.getBoundingClientRect().right > innerWidth).length") == 0
    cells = "[...document.querySelectorAll('table.rows td')]"
    assert page.evaluate(f"{cells}.filter(e => e.getBoundingClientRect().right > innerWidth).length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_nothing_and_axe_finds_no_fault(name: str, scheme: str, opened: Any, axe: str) -> None:
    page, asked = opened(name, scheme)
    unfold(page)
    kept(page, f"{name}-{scheme}")
    page.evaluate(axe)  # through the debugger, which the page's policy does not bind
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert asked == [page.url]
    faults = [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in found["violations"]]
    assert faults == []
    assert len(found["passes"]) > 10  # it did look


def test_light_and_dark_are_two_looks(opened: Any) -> None:
    colours = [
        opened("machine", scheme)[0].evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colours == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_window_scrolls_tables_and_pictures_and_not_the_page(name: str, opened: Any) -> None:
    page, _ = opened(name, width=NARROW)
    unfold(page)
    kept(page, f"{name}-narrow")
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW
    words = page.evaluate(
        "() => [...document.querySelectorAll('th[scope=col]')].filter(e => e.textContent.length < 8 && "
        "e.getBoundingClientRect().height > 2.6 * parseFloat(getComputedStyle(e).fontSize) + 10)"
        ".map(e => e.textContent)"
    )
    assert words == []  # no word is broken letter by letter


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_nothing_is_folded_or_cut(name: str, opened: Any) -> None:
    page, _ = opened(name, "dark", width=700)  # about what an A4 page is wide
    page.emulate_media(media="print")
    kept(page, f"{name}-print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = page.evaluate(
        "() => [...document.querySelectorAll('details > div')].filter(e => !e.getClientRects().length || "
        "!e.checkVisibility({contentVisibilityAuto: true}) || e.parentElement.getBoundingClientRect().height < "
        "e.getBoundingClientRect().height).length"
    )
    assert hidden == 0
    assert page.evaluate("[...document.querySelectorAll('svg')].every(e => e.getBoundingClientRect().right <= 700)")
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_keyboard_goes_to_the_findings_and_opens_each_part(opened: Any) -> None:
    page, _ = opened("machine")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page, _ = opened("machine")
    parts = page.evaluate("[...document.querySelectorAll('summary')].filter(e => e.checkVisibility()).length")
    wide = page.evaluate("[...document.querySelectorAll('[role=region]')].length")
    seen, opened_parts = [], 0
    for _step in range(40):
        page.keyboard.press("Tab")
        here = page.evaluate("[document.activeElement.tagName, document.activeElement.getAttribute('role')]")
        if here[0] == "BODY":
            break
        seen.append(here)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"  # where one is can be seen
        if here[0] == "SUMMARY":
            before = page.evaluate("document.activeElement.parentElement.open")
            page.keyboard.press("Enter")
            opened_parts += before != page.evaluate("document.activeElement.parentElement.open")
            page.evaluate("document.activeElement.parentElement.open = " + str(before).lower())
    assert [tag for tag, _ in seen].count("SUMMARY") == parts == opened_parts > 1
    assert [role for _, role in seen].count("region") == wide > 1


class _Counter(BaseHTTPRequestHandler):
    hits = 0

    def do_GET(self) -> None:  # the base class wants this name
        type(self).hits += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Says nothing."""


@pytest.fixture
def listener() -> Iterator[str]:
    _Counter.hits = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Counter)  # a browser opens connections that it may never use
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("held", [True, False])
def test_the_browser_itself_keeps_a_page_from_the_network(held: bool, opened: Any, listener: str) -> None:
    """Even if markup of somebody else were in it; without the policy the same page would reach out."""
    tags = (
        f'<img src="{listener}/img"><link rel="stylesheet" href="{listener}/css"><script src="{listener}/js"></script>'
        f'<iframe src="{listener}/frame"></iframe><style>body {{ background: url({listener}/bg) }}</style>'
        f'<script>fetch("{listener}/fetch")</script>'
    )
    text = PAGES["machine"]().replace("</main>", f"{tags}</main>")
    if not held:
        text = text.replace("Content-Security-Policy", "Nothing")
    page, _ = opened(text)
    page.wait_for_timeout(500)
    assert (_Counter.hits == 0) is held
