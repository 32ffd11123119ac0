"""The pages in a real headless Chromium: nothing leaves them, no script runs, axe finds no fault, light and dark.

AXE=…/axe-core/axe.min.js python -m pytest -m engine tests/report/test_browser.py
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.fleet.page import render as fleet_page
from doctor.report import html
from tests.fleet.test_verdict import fleet, node
from tests.report import example, machine_with_links

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("default")]
PAGES: dict[str, Callable[[], str]] = {
    "hostile": lambda: html.render(example.report(summary=example.HOSTILE)),
    "machine": lambda: html.render(machine_with_links.report()),
    "fleet": lambda: fleet_page(
        fleet((9, node()), (1, node(nvidia_driver__version="570.10")), (3, node(kernel__release="6.9")))
    ),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_stands_alone_and_axe_finds_no_fault(name: str, scheme: Any, tmp_path: Path) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium, axe = shutil.which("chromium"), os.environ.get("AXE")
    if not chromium or not axe:
        pytest.skip("needs chromium, and AXE: the path of axe-core's axe.min.js")
    page_file = tmp_path / f"{name}.html"
    page_file.write_text(PAGES[name]())
    asked: list[str] = []
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(color_scheme=scheme, bypass_csp=True)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        for part in page.query_selector_all("details"):
            part.evaluate("e => { e.open = true }")
        page.screenshot(path=os.environ.get("PICTURES", str(tmp_path)) + f"/{name}-{scheme}.png", full_page=True)
        page.add_script_tag(path=axe)
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        browser.close()
    assert asked == [page_file.as_uri()]
    faults = [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in found["violations"]]
    assert faults == []
    assert len(found["passes"]) > 10  # it did look
