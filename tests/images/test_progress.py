"""Steps, sizes and time left, from lines that BuildKit 0.12 (Docker 26.1.5) and podman 4.3.1 printed."""

from __future__ import annotations

import pytest

from doctor.cli.image_output import Told
from doctor.images.progress import Outlook, Step, Steps, earlier, guessed, words

DIGEST = "sha256:c6f16240beaa607e78d0256bb94d6c6b682ee4edc16839a044130a1629cdfb73"
BUILDKIT = f"""\
#0 building with "default" instance using docker driver

#5 [os 1/2] FROM localhost:5720/ubuntu:24.04@{DIGEST}
#5 resolve localhost:5720/ubuntu:24.04@{DIGEST} done
#5 DONE 0.1s

#7 [context doctor] load from client
#7 transferring doctor:
#7 transferring doctor: 5.90MB 0.3s done
#7 DONE 0.4s

#8 [os 2/2] RUN --mount=type=bind,source=apt,target=/run/apt     sh /run/apt/install.sh runtime.txt
#8 0.824 Get:1 http://archive.ubuntu.com/ubuntu noble InRelease [256 kB]
#8 15.40 Need to get 11.2 MB of archives.
#8 DONE 49.0s

#9 [python 1/5] RUN --mount=type=bind,source=apt,target=/run/apt     sh /run/apt/install.sh build.txt
#9 49.00 Need to get 2429 kB of archives.
"""
BUILDAH = """\
[3/5] STEP 2/3: ARG SOURCE_DATE_EPOCH
--> 3002f413efc
[3/5] STEP 3/3: RUN --mount=type=bind,source=apt,target=/run/apt     sh /run/apt/install.sh runtime.txt
Need to get 11.2 MB of archives.
[4/5] STEP 1/7: FROM 49838fb97c50 AS python
"""


def read(text: str, steps: Steps | None = None) -> Steps:
    found = steps or Steps({}, whole=False)
    for line in text.splitlines():
        found.buildkit(line, 0.0)
    return found


def test_steps_begin_end_and_come_from_the_cache() -> None:
    steps = read("#5 [os 1/2] FROM x\n#5 CACHED\n#6 [os 2/2] RUN y\n#6 0.1 said\n#6 DONE 2.5s\n").rows
    assert [(s.name, s.seconds, s.cached) for s in steps.values()] == [
        ("[os 1/2] FROM x", 0.0, True),
        ("[os 2/2] RUN y", 2.5, False),
    ]


def test_what_moved_in_a_step_is_what_its_lines_say() -> None:
    assert [s.moved for s in read(BUILDKIT).rows.values()] == [0, 5_900_000, 11_200_000, 2_429_000]


def test_a_layer_that_is_pulled_is_counted_as_far_as_it_is() -> None:
    layer = "0123456789abcdef" * 4
    text = f"#5 [os 1/2] FROM x\n#5 sha256:{layer} 1.05MB / 29.7MB 0.3s\n#5 sha256:{layer} 29.7MB / 29.7MB 1.2s done\n"
    assert next(iter(read(text).rows.values())).moved == 29_700_000


def test_steps_are_counted_from_their_names_and_the_export() -> None:
    """2 of os, 5 of python, the context, and the export that comes last."""
    outlook = read(BUILDKIT).outlook(0.0)
    assert (outlook.done, outlook.of, outlook.left_s) == (3, 9, None)


def test_an_earlier_build_says_how_long_the_rest_takes() -> None:
    before = [Step("[os 1/2] FROM x@" + DIGEST, 1.0), Step("[os 2/2] RUN --mount=type=cache apt", 40.0)]
    steps = Steps(earlier([*before, Step("exporting to oci image format", 500.0)]), whole=True)
    text = "#1 [os 1/2] FROM x@sha256:" + "b" * 64 + "\n#1 DONE 1.0s\n#2 [os 2/2] RUN --mount=type=bind apt\n"
    read(text, steps)
    assert steps.outlook(10.0) == Outlook(1, 3, 30.0 + 500.0)


def test_the_pace_of_what_has_ended_corrects_what_is_left() -> None:
    steps = read("#1 [os 2/2] RUN apt\n#1 DONE 80.0s\n", Steps({"apt": 40.0, "exporting": 500.0}, whole=True))
    assert steps.outlook(80.0).left_s == 1000.0


def test_a_step_from_the_cache_says_nothing_of_the_pace() -> None:
    steps = read("#1 [os 2/2] RUN apt\n#1 CACHED\n", Steps({"apt": 40.0, "exporting": 500.0}, whole=True))
    assert steps.outlook(0.0).left_s == 500.0
    assert earlier([Step("[os 2/2] RUN apt", 0.0, cached=True)]) == {}


def test_a_first_build_is_guessed_from_the_sizes_of_the_lock() -> None:
    """2.94 GB of wheels took 166 s to install and 420 to 519 s to compress with zstd; gzip is slower."""
    found = guessed(2_940_000_000, "zstd")
    assert 130 < found["requirements"] < 200
    assert 450 < found["exporting"] < 600
    assert guessed(2_940_000_000, "gzip")["exporting"] > found["exporting"]


def test_podman_s_steps_end_where_the_next_begins() -> None:
    steps = Steps({}, whole=False)
    told = [steps.buildah(line, float(n * 10)) for n, line in enumerate(BUILDAH.splitlines())]
    assert [s.seconds for s in steps.rows.values()] == [20.0, 20.0, None]
    assert [len(t) for t in told] == [1, 0, 2, 0, 2]
    assert [s.moved for s in steps.rows.values()] == [0, 11_200_000, 0]


@pytest.mark.parametrize(
    ("outlook", "said"),
    [
        (Outlook(4, 19, 750.0), "4 of 19, about 12 min left"),
        (Outlook(4, 19, 20.0), "4 of 19, less than a minute left"),
        (Outlook(4, None, None), "4 done"),
    ],
)
def test_how_far_it_is_in_words(outlook: Outlook, said: str) -> None:
    assert words(outlook) == said


def test_without_a_terminal_a_long_step_is_told_each_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    told = Told(terminal=False)
    step = Step("exporting to oci image format")
    told(step, Outlook(9, 10, 500.0))
    for _ in range(60):
        told(None, Outlook(9, 10, 480.0, written=1_300_000_000))
    told(Step("exporting to oci image format", 510.0), Outlook(10, 10, 0.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "… exporting to oci image format, 1.3 GB (9 of 10, about 8 min left)",
        "… exporting to oci image format, 1.3 GB (9 of 10, about 8 min left)",
        " 510.0 s  exporting to oci image format (10 of 10, less than a minute left)",
    ]


def test_on_a_terminal_one_line_changes(capsys: pytest.CaptureFixture[str]) -> None:
    told = Told(terminal=True)
    told(Step("[os 2/2] RUN --mount=type=bind,source=apt sh install.sh"), Outlook(1, 9, None))
    told(None, Outlook(1, 9, None))
    told.end()
    line = "\r\x1b[K… [os 2/2] RUN sh install.sh (1 of 9)"
    assert capsys.readouterr().err == f"{line}{line}\r\x1b[K"
