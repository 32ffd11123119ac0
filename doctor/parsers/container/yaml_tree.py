"""YAML -> its documents as nodes with lines; `<<` taken in, an alias once, null as no text.

>>> (root,) = roots("a: &x {b: 1}\\nc:\\n  <<: *x\\n  d: [e]\\n")
>>> root.fields["c"].fields["b"].text, root.fields["c"].fields["d"].items[0].line
('1', 4)
>>> root.fields["c"].line  # of its key
2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

MOST = 50_000
"""Nodes that are read."""


class Node(NamedTuple):
    line: int
    text: str | None
    fields: dict[str, Node]
    items: list[Node]

    def at(self, *path: str) -> Node:
        """What is under these keys; a node without content where there is none."""
        node = self
        for key in path:
            node = node.fields.get(key, NOTHING)
        return node


NOTHING = Node(0, None, {}, [])


def roots(text: str) -> list[Node]:
    """Raises ParserError for what is no YAML, or is nested too deeply."""
    from doctor.parsers.lib.yaml_compose import composed

    reader = _Reader()
    return [reader.node(root) for root in composed(text)]


class _Reader:
    def __init__(self) -> None:
        self.made: dict[int, Node] = {}

    def node(self, node: Any) -> Node:
        found = self.made.get(id(node))
        if found is not None:
            return found
        kind = node.id
        text = node.value if kind == "scalar" and not node.tag.endswith(":null") else None
        made = self.made[id(node)] = Node(int(node.start_mark.line) + 1, text, {}, [])
        if len(self.made) > MOST:
            return made
        if kind == "sequence":
            made.items.extend(self.node(item) for item in node.value)
        elif kind == "mapping":
            self._mapping(node, made)
        return made

    def _mapping(self, node: Any, made: Node) -> None:
        own: dict[str, Node] = {}
        for key, value in node.value:
            if key.id != "scalar":
                continue
            held = self.node(value)
            if key.value == "<<":
                for each in held.items or [held]:
                    for name, field in each.fields.items():
                        made.fields.setdefault(name, field)
            else:
                own[key.value] = held if held.text is not None else held._replace(line=int(key.start_mark.line) + 1)
        made.fields.update(own)


def pods(root: Node) -> Iterator[Node]:
    """What holds `containers`, wherever it is in a manifest."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node.fields) in seen:
            continue
        seen.add(id(node.fields))
        if node.at("containers").items:
            yield node
        waiting += [*reversed(node.items), *reversed(node.fields.values())]
