"""Our own modules and packages come first: what the user has on PYTHONPATH or in the working directory is to be
examined, and may be the very fault. It stays on sys.path, last, since our packages may have been installed there."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # built in; `signal` takes longer to import
import os
import sys

_SCRIPTS = ("doctor", "rcdoctor")
_MODULE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__main__.py")  # noqa: PTH118, PTH120  pathlib may be hidden


def prefer() -> None:
    """Before anything of ours is imported; only where this process is the doctor's. The variable itself stays.

    Until main() can catch Ctrl-C, it ends the process at once, without a traceback."""
    program = sys.argv[0] if sys.argv else ""
    if program != _MODULE and os.path.basename(program) not in _SCRIPTS:  # noqa: PTH119
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    theirs = {os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part}  # noqa: PTH100
    first = sys.path[:1]
    if first and first[0] in ("", _cwd()):
        theirs.add(os.path.abspath(first[0]))  # noqa: PTH100
    later = [path for path in sys.path if os.path.abspath(path) in theirs]  # noqa: PTH100
    sys.path[:] = [path for path in sys.path if path not in later] + later


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        return ""
