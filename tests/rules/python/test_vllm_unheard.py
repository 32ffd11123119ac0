"""vllm-build-mismatch: words alone."""

from __future__ import annotations

from doctor.intake import read_text
from doctor.rules.python import vllm_build_mismatch as rule


def test_words_blame_no_program_that_is_not_named() -> None:
    missing = b"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"
    assert rule.unheard(read_text([missing]))
    assert not rule.unheard(read_text([missing + b"\npip install vllm"]))
