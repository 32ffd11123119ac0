"""Another's eyes: detect-secrets, where it is installed (the extra `scan`)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path


def detected(files: Mapping[str, bytes]) -> list[tuple[str, int, str]] | None:
    """File, line, and kind with value of each secret that it reports with its own plugins and filters; None where it
    is not installed."""
    try:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings
    except ImportError:
        return None
    found = []
    with tempfile.TemporaryDirectory() as folder, default_settings():
        for number, (name, content) in enumerate(sorted(files.items())):
            path = Path(folder) / f"{number}.txt"  # mode of the folder: 0700
            path.write_bytes(content)
            found += [(name, s.line_number, f"{s.type}: {s.secret_value or ''}") for s in scan_file(str(path))]
    return found
