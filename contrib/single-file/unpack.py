"""What the single file runs first: unpack into a private folder, then start doctor."""

import os
import stat
import sys

if not (3, 10) <= sys.version_info[:2] <= (3, 14):  # before any line that an older Python can't read
    version = "{}.{}".format(*sys.version_info[:2])
    sys.exit("doctor: this file needs Python 3.10 to 3.14; this is {} ({})".format(version, sys.executable))  # noqa: UP032

from pathlib import Path


def private_root() -> str:
    """Its path. Ends the program where somebody else could have put code there, or could put it there."""
    root = os.environ.get("DOCTOR_ROOT") or str(Path("~/.cache/doctor").expanduser())
    try:
        Path(root).mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.lstat(root)
    except OSError as error:
        sys.exit(f"doctor: {root}: {error.strerror}; DOCTOR_ROOT=FOLDER unpacks elsewhere")
    if not stat.S_ISDIR(held.st_mode) or held.st_uid != os.geteuid() or held.st_mode & 0o022:
        sys.exit(f"doctor: {root}: is not a private folder of this user; DOCTOR_ROOT=FOLDER unpacks elsewhere")
    for above in Path(root).resolve().parents:  # whoever can write there could put another folder in its place
        held = above.stat()
        shared = held.st_mode & 0o022 and not held.st_mode & stat.S_ISVTX
        if shared or held.st_uid not in (0, os.geteuid()):
            sys.exit(f"doctor: {above}: others can write it; DOCTOR_ROOT=FOLDER unpacks elsewhere")
    return root


if __name__ == "__main__":
    os.umask(0o077)
    os.environ["SHIV_ROOT"] = private_root()
    from _bootstrap import bootstrap

    bootstrap()
