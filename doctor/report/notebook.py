"""A report as the last value of a notebook's cell: the page in a frame, so that neither styles the other.

from doctor.report.notebook import Shown
Shown(report)
"""

from __future__ import annotations

from html import escape

from doctor.findings import Report


class Shown:
    """Redacted, like every page. The frame runs no script and opens nothing."""

    def __init__(self, report: Report, height_px: int = 640) -> None:
        self.report, self.height_px = report, int(height_px)

    def _repr_html_(self) -> str:
        from doctor.report.formats import html

        page = escape(html.render(self.report), quote=True)
        return (
            f'<iframe title="doctor report" sandbox="" srcdoc="{page}" '
            f'style="width:100%;height:{self.height_px}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        findings = self.report.counted()
        return f"<doctor report: {self.report.status}, {len(findings)} findings>"
