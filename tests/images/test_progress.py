"""Steps and sizes, from lines that BuildKit 0.12 (Docker 26.1.5) and podman 4.3.1 printed."""

from __future__ import annotations

import pytest

from doctor.cli.image_output import ProgressOutput
from doctor.images.progress import Step, Steps

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


def read(text: str) -> Steps:
    found = Steps()
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


def test_podman_s_steps_end_where_the_next_begins() -> None:
    steps = Steps()
    progress = [steps.buildah(line, float(n * 10)) for n, line in enumerate(BUILDAH.splitlines())]
    assert [s.seconds for s in steps.rows.values()] == [20.0, 20.0, None]
    assert [len(t) for t in progress] == [1, 0, 2, 0, 2]
    assert [s.moved for s in steps.rows.values()] == [0, 11_200_000, 0]


def test_without_a_terminal_a_long_step_is_told_each_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressOutput(terminal=False)
    step = Step("exporting to oci image format")
    progress(step, 0)
    for _ in range(60):
        progress(None, 1_300_000_000)
    progress(Step("exporting to oci image format", 510.0), 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "… exporting to oci image format, 1.3 GB",
        "… exporting to oci image format, 1.3 GB",
        " 510.0 s  exporting to oci image format",
    ]


def test_on_a_terminal_one_line_changes(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressOutput(terminal=True)
    progress(Step("[os 2/2] RUN --mount=type=bind,source=apt sh install.sh"), 0)
    progress(None, 0)
    progress.end()
    line = "\r\x1b[K… [os 2/2] RUN sh install.sh"
    assert capsys.readouterr().err == f"{line}{line}\r\x1b[K"
