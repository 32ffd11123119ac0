"""What the single file runs first: unpack into a folder that belongs to this user alone, then start the doctor."""

import os
import stat
import sys
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
        sys.exit(f"doctor: {root}: is no folder of this user alone; DOCTOR_ROOT=FOLDER unpacks elsewhere")
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
