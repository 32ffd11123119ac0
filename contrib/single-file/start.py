"""Starts doctor from the single file, with the packages for this Python first."""

import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    own = Path(__file__).parent / "for-python-{}.{}".format(*sys.version_info[:2])
    sys.path.insert(0, str(own))
    from doctor.cli.main import main as start

    start()
