"""The rules for alerts: the form that Prometheus takes, and series that are really written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from doctor.report.formats import render
from tests.report.example import report

FILE = Path(__file__).resolve().parents[2] / "contrib/prometheus/doctor.rules.yml"
OF_THE_COLLECTOR = {"node_textfile_mtime_seconds"}
WORDS = {"sum", "by", "time", "max_over_time", "instance", "scope"}


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(FILE.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def series() -> dict[str, set[str]]:
    """Name -> its labels, of a report."""
    rows = re.findall(r"^(\w+)(?:\{(.*)\})? ", render("prometheus", report()), re.MULTILINE)
    return {name: set(re.findall(r"(\w+)=\"", labels)) for name, labels in rows}


def test_each_rule_has_the_keys_that_prometheus_takes() -> None:
    for rule in rules():
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys()
        assert re.fullmatch(r"[A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m"))
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_each_series_of_an_expression_is_written() -> None:
    written = series()
    for rule in rules():
        bare = re.sub(r"\"[^\"]*\"", "", rule["expr"])
        names = set(re.findall(r"[a-z_]{3,}", re.sub(r"\{[^}]*\}", "", bare))) - WORDS
        assert names, rule
        assert names <= written.keys() | OF_THE_COLLECTOR
        for name, labels in re.findall(r"(\w+)\{([^}]*)\}", rule["expr"]):
            if name in written:
                assert set(re.findall(r"(\w+)=~?\"", labels)) <= written[name]


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not in PATH")
def test_promtool_takes_them() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(FILE)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
