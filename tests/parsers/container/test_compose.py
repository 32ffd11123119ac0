from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.container.compose import read

TEXT = """x-gpu: &gpu
  devices: [/dev/kfd]
  privileged: yes
services:
  a:
    <<: *gpu
    image: "x"
    count: 1
"""


def test_services_merged_with_their_anchors_and_lines() -> None:
    file = read(TEXT)
    assert file.services == {"a": {"devices": ["/dev/kfd"], "privileged": True, "image": "x", "count": "1"}}
    assert file.line("services", "a", "image") == 7
    assert file.line("services", "a", "none", 3) == 5


@pytest.mark.parametrize(
    "text", ["", "a: [", "- 1", "services: 3", "services: {a: 1}", "\x00", "a: !!python/object:os.x 1"]
)
def test_what_is_no_compose_file(text: str) -> None:
    with pytest.raises(ParserError):
        read(text)


def test_aliases_that_multiply_are_bounded() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ParserError, match="too many"):
        read("\n".join(rows) + "\nservices: {a: {b: *a8}}\n")
