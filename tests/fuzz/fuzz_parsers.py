"""Coverage-guided fuzzing of every reader and of the intake (atheris): see docs/fuzzing.md.

    python -m tests.fuzz.fuzz_parsers -max_total_time=3600 CORPUS_FOLDER

The input is a text; its first byte says which reader is given the rest. A ParserError is an answer; any other
exception, a value with control characters, or an input that takes longer than libFuzzer's -timeout is a fault.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["doctor"]):
    import doctor.triage.read
    from tests.parsers import surface

    READERS = surface.readers()  # imports each reader, which is instrumented as it comes

from tests.parsers.samples import SAMPLES

FAULTS: set[str] = set()
"""Where --keep-going has met faults: one is printed for each place."""


def keep_going(data: bytes) -> None:
    """As one_input, but a fault is printed, once for each place in the code, and the run goes on."""
    try:
        one_input(data)
    except Exception as error:  # noqa: BLE001 -- whatever comes out is what is looked for
        place = traceback.format_exc().strip().splitlines()[-3:]
        name = f"{type(error).__name__} {place[0].strip()} {str(error)[:30]}"
        if name not in FAULTS:
            FAULTS.add(name)
            sys.stderr.write(f"FAULT {len(FAULTS)}: {name}\n  {str(error)[:200]}\n  input {data[:300]!r}\n")


def one_input(data: bytes) -> None:
    if len(data) < 2:
        return
    text = data[1:].decode("utf-8", "replace")
    place = data[0] % (len(READERS) + 1)
    if place == len(READERS):
        machine = doctor.triage.read.read_text([data[1:]])
        for gpu in machine.gpus or ():
            assert not surface.unclean(gpu.name or ""), f"intake keeps {gpu.name!r}"
        for symptom in machine.symptoms:
            assert not surface.unclean(symptom.text), f"intake keeps {symptom.text[:80]!r}"
        return
    surface.try_on(READERS[place], text)


def seed(folder: Path) -> None:
    """Each sample for each reader: what the fuzzer starts from."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SAMPLES.items():
        for place in range(len(READERS) + 1):
            (folder / f"{name}-{place}").write_bytes(bytes([place]) + text.encode())


def main() -> None:
    going = "--keep-going" in sys.argv
    sys.argv = [a for a in sys.argv if a != "--keep-going"]
    folders = [a for a in sys.argv[1:] if not a.startswith("-")]
    for folder in folders[:1]:
        seed(Path(folder))
    atheris.Setup(sys.argv, keep_going if going else one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
