"""YAML -> the root node of each of its documents, not nested too deeply, with anchors that may be defined again.

>>> [root.value[2][1].value for root in composed("a: &x 1\\nb: &x 2\\nc: *x\\n")]
['2']
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import Composer

from doctor.errors import ParserError
from doctor.parsers.lib import yaml_depth

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASES: tuple[Any, ...] = (yaml.SafeLoader,) if _LOADER is yaml.SafeLoader else (Composer, _LOADER)
"""libyaml's own composer refuses a second anchor too, and offers no way around: its events go to Python's."""


class _AnchorsAgain(*_BASES):  # type: ignore[misc] # it depends on how PyYAML was built
    """https://yaml.org/spec/1.2.2/#71-alias-nodes: an alias means the nearest such anchor before it. PyYAML refuses a
    second one, which files of CI systems have."""

    def __init__(self, stream: str) -> None:
        _LOADER.__init__(self, stream)
        Composer.__init__(self)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if not self.check_event(yaml.AliasEvent):
            self.anchors.pop(self.peek_event().anchor, None)
        return super().compose_node(parent, index)


def composed(text: str) -> list[Any]:
    """Raises ParserError for what is no YAML, or is nested too deeply. Empty documents are left out."""
    yaml_depth.check(text)
    try:
        try:
            found = list(yaml.compose_all(text, Loader=_LOADER))
        except yaml.composer.ComposerError as error:
            if "duplicate anchor" not in f"{error.context}{error.problem}":
                raise
            found = list(yaml.compose_all(text, Loader=_AnchorsAgain))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ParserError(f"no YAML: {' '.join(str(error).split())[:200]}") from error
    return [root for root in found if root is not None]
