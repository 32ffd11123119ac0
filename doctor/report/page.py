"""The frame of an HTML report: its head with the style, and its end. Nothing here comes from outside."""

# ruff: noqa: E501 -- markup
from __future__ import annotations

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --soft: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --error: #b3261e; --warning: #8a5a00; --info: #0b5cad; --ok: #1a7f37; --unknown: #6639a6; }
@media (prefers-color-scheme: dark) { :root { --bg: #0d1117; --fg: #e6edf3; --soft: #9ba6b2; --line: #3d444d;
  --box: #161b22; --error: #ff8a80; --warning: #e3b341; --info: #79b8ff; --ok: #56d364; --unknown: #c297ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem 1.25rem 4rem; background: var(--bg); color: var(--fg);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
code, pre { font: .875em/1.45 ui-monospace, "Liberation Mono", Menlo, monospace; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
small, .basis, .ids, .about dt, summary .about { color: var(--soft); } .lead { font-size: 1.05rem; } ul { margin: .25rem 0; padding-left: 1.25rem; }
dl.about { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 0; } dl.about div { display: flex; gap: .4rem; } dl.about dd { margin: 0; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; } details > div { padding: 0 1rem .75rem; }
summary { cursor: pointer; padding: .5rem .8rem; } details.finding { border-left-width: 5px; }
details.error { border-left-color: var(--error); } details.warning { border-left-color: var(--warning); } details.info { border-left-color: var(--info); }
.badge, .chip { border: 1px solid currentColor; border-radius: 1em; padding: 0 .6em; font-size: .8em; font-weight: 600; white-space: nowrap; }
h1 .badge { font-size: 1em; } .chip { font-weight: 400; color: var(--soft); } .what { font-weight: 600; }
.badge.error { color: var(--error); } .badge.warning { color: var(--warning); } .badge.info { color: var(--info); }
.badge.ok { color: var(--ok); } .badge.unknown, .badge.partial { color: var(--unknown); }
.wide { overflow-x: auto; } h1 .badge { white-space: normal; }
/* Words stay whole in cells, so that a narrow window scrolls the table; lists of nodes and values break anywhere. */
table { overflow-wrap: break-word; } table.lists td, table.facts td, table.facts th { overflow-wrap: anywhere; min-width: 8rem; }
table.lists td.short { min-width: 0; overflow-wrap: break-word; } table { border-collapse: collapse; width: 100%; font-size: .9em; } caption { text-align: left; color: var(--soft); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; } th[scope=row] { font-weight: 400; }
:focus-visible { outline: 3px solid var(--info); outline-offset: 2px; } a { color: var(--info); }
figure { margin: .5rem 0; } figcaption { color: var(--soft); font-size: .9em; } svg { display: block; max-width: none; } svg text { fill: var(--fg); font-size: 12px; }
svg rect { fill: var(--box); stroke: var(--soft); } svg .odd rect { fill: var(--error); stroke: var(--error); } svg .odd text { fill: var(--bg); }
svg .some rect { fill: none; stroke: var(--error); stroke-width: 2; } svg .some text { fill: var(--error); font-weight: 700; } svg .divided rect { fill: var(--warning); stroke: var(--warning); } svg .divided text { fill: var(--bg); } svg line, svg path { stroke: var(--soft); stroke-width: 1.5; fill: none; }
svg .numa { fill: none; stroke-dasharray: 2 3; } svg .bar { fill: var(--info); stroke: none; } svg .base { stroke: var(--fg); stroke-width: 2; } svg .soft { fill: var(--soft); }
svg circle.bar { stroke: var(--bg); stroke-width: 1; } svg .grid { stroke: var(--line); stroke-width: 1; } svg.fit { width: 100%; max-width: 40rem; height: auto; }
ul.bars { list-style: none; padding: 0; } .bars li { display: grid; grid-template-columns: 22rem 1fr 14rem; gap: .1rem .8rem; align-items: center; padding: .15rem 0; }
.bars svg { width: 100%; height: 18px; overflow: visible; } .bars line { vector-effect: non-scaling-stroke; }
svg .link { stroke-width: 1; opacity: .65; } svg .link.down { stroke: var(--error); stroke-width: 2.5; opacity: 1; }
.skip { position: absolute; left: -100rem; } .skip:focus { position: static; }
@media (max-width: 60rem) { .bars li { grid-template-columns: 1fr; padding: .4rem 0; } }
@media (max-width: 40rem) { table.gpus, table.gpus tbody, table.gpus tr, table.gpus td, table.gpus th[scope=row], table.gpus caption { display: block; }
  table.gpus th[scope=col] { display: none; } table.gpus tr { padding: .4rem 0; border-bottom: 1px solid var(--line); }
  table.gpus td { display: flex; gap: .6rem; border: 0; padding: .1rem 0; } table.gpus td::before { content: attr(data-label); color: var(--soft); min-width: 5rem; } }
/* On a phone each row of such a table is a list of its cells, each after the name of its column. */
@media (max-width: 30rem) { table.rows, .rows tbody, .rows tr, .rows td, .rows th[scope=row], .rows caption { display: block; } .rows td:empty { display: none; } .rows tr.head { display: none; }
  .rows tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } table.rows td, table.rows th[scope=row] { border: 0; padding: .05rem 0; }
  .rows td::before { content: attr(data-label) ": "; color: var(--soft); } }
@media print { :root { color-scheme: light; --bg: #fff; --fg: #000; --soft: #444; --line: #999; --box: #fff; --error: #900; --warning: #640;
    --info: #036; --ok: #040; --unknown: #406; } body { max-width: none; padding: 0; font-size: 10.5pt; } .skip { display: none; }
  h2, h3, caption, summary { break-after: avoid; } details.finding, figure, tr { break-inside: avoid; } .wide { overflow: visible; }
  svg { max-width: 100%; height: auto; } table.lists td, table.facts td, table.facts th { min-width: 0; } details::details-content { content-visibility: visible; block-size: auto; } details > div { display: block !important; }
  pre { white-space: pre-wrap; } }
"""
BOTTOM = "</main>\n</body>\n</html>\n"


def top(title: str) -> str:
    """Everything before the header. `title` is escaped."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="robots" content="noindex">\n<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        '<a class="skip" href="#main">To the findings</a>\n'
    )
