"""The fifth set: 20 pairs, six of them in facts.py, written down after the ranking changed for the fourth."""

from __future__ import annotations

import os

from benchmarks.why.boxes import containers
from benchmarks.why.second import wheels
from benchmarks.why.world import World, pair


@pair("package pytest", harmless=64)
def pytest_8_2_below_a_plugin(w: World) -> None:
    """pytest 8 took away an attribute that pytest-asyncio 0.23.2 reads; the traceback is the plugin's."""
    w.harmless(packages=30, variables=30)
    wheels(w, "pytest==7.4.4", "pytest==8.2.0", "pytest-asyncio==0.23.2 iniconfig==2.0.0 pluggy==1.5.0")
    tests = w.root / "suite"
    tests.mkdir()
    (tests / "__init__.py").write_text("")
    (tests / "test_one.py").write_text("def test_one(): pass\n")
    w.command = ["python", "-m", "pytest", "-p", "no:cacheprovider", str(tests)]


@pair("package accelerate", harmless=120)
def optional_package_is_missing(w: World) -> None:
    """A package says that it needs another one for an option."""
    w.harmless(packages=80, variables=40)
    w.good.install("accelerate", "1.2.1")
    code = (
        "def load():\n    try:\n        import accelerate\n    except ImportError:\n        raise ImportError('Using "
        '`low_cpu_mem_usage=True` or a `device_map` requires Accelerate: `pip install "accelerate>=0.26.0"`\') '
        "from None\n"
    )
    for side in (w.good, w.bad):
        side.install("modelzoo", "4.1", code)
    w.python("import modelzoo\nmodelzoo.load()\n")


@pair("package data-augment", harmless=110)
def loss_is_too_high(w: World) -> None:
    """A package computes something else; what fails is an assertion of the script."""
    w.harmless(packages=70, variables=40)
    for side, version, factor in ((w.good, "0.9", "2"), (w.bad, "1.0", "3")):
        side.install("data-augment", version, f"def scale(x): return x * {factor}\n")
    w.python(
        "import psutil\nimport rich\nimport tqdm\nimport data_augment as augment\nimport networkx\n\n"
        "def train(rate):\n    sample = augment.scale(4)\n    return sample * rate\n\n"
        "loss = train(0.1)\nassert loss < 1, f'loss is {loss}'\n"
    )


@pair("package starlette", harmless=90)
def argument_that_is_gone(w: World) -> None:
    """The class below lost an argument; the traceback ends in the package above."""
    w.harmless(packages=90)
    for side, version, arguments in ((w.good, "0.46.0", ", on_startup=None"), (w.bad, "1.0.0", "")):
        code = f"class Router:\n    def __init__(self, routes=None{arguments}):\n        self.routes = routes\n"
        side.install("starlette", version, files={"starlette/__init__.py": "", "starlette/routing.py": code})
        code = (
            "import rich\nimport tqdm\nfrom starlette import routing\n\nclass App:\n    def __init__(self):\n"
            "        self.router = routing.Router(routes=[], on_startup=[])\n"
        )
        side.install("fastapi", "0.115.0", code)
    w.python("import fastapi\nfastapi.App()\n")


@pair("variable no_proxy", harmless=100)
def local_names_go_to_the_proxy(w: World) -> None:
    """Both sides have a proxy; only GOOD leaves it out for local addresses."""
    w.harmless(variables=100)
    for side in (w.good, w.bad):
        side.variables["http_proxy"] = "http://127.0.0.1:9"
    w.good.variables["no_proxy"] = "127.0.0.2,localhost"
    w.python(
        "import http.server, threading, urllib.request\n"
        "s = http.server.HTTPServer(('127.0.0.2', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
        "urllib.request.urlopen(f'http://127.0.0.2:{s.server_port}/', timeout=5)\n"
    )


@pair("variable PIP_FIND_LINKS", harmless=90)
def packages_from_an_empty_folder(w: World) -> None:
    """pip looks for packages in a folder that has none of them."""
    w.harmless(variables=90)
    for folder in ("store", "wheelhouse"):
        (w.root / folder).mkdir()
    (w.root / "store/mytool-1.0-py3-none-any.whl").write_text("")
    for side, folder in ((w.good, "store"), (w.bad, "wheelhouse")):
        side.variables |= {"PIP_FIND_LINKS": str(w.root / folder), "PIP_NO_INDEX": "1"}
    w.said = (
        "ERROR: Could not find a version that satisfies the requirement mytool==1.0 (from versions: none)\n"
        "ERROR: No matching distribution found for mytool==1.0\n"
    )
    w.command = ["sh", "-c", 'ls "$PIP_FIND_LINKS"/mytool-1.0-*.whl']


@pair("variable HOME", harmless=80)
def home_of_another_user(w: World) -> None:
    """The service's HOME has no configuration."""
    w.harmless(variables=80)
    w.good.program(".config/trainer.toml", "rate = 1\n")
    w.good.variables["HOME"], w.bad.variables["HOME"] = str(w.good.root), "/nonexistent"
    w.python("import pathlib\nprint((pathlib.Path.home() / '.config/trainer.toml').read_text())\n")


@pair("variable PYTHONHOME", harmless=70)
def python_of_another_place(w: World) -> None:
    """PYTHONHOME leads to a folder without a standard library."""
    w.harmless(variables=70)
    w.bad.variables["PYTHONHOME"] = "/opt/tools/python"
    w.python("print(1)\n")


@pair("variable LC_NUMERIC", harmless=100)
def decimal_comma(w: World) -> None:
    """A tool writes numbers with a comma."""
    w.harmless(variables=100)
    w.good.variables["LC_NUMERIC"], w.bad.variables["LC_NUMERIC"] = "C", "de_DE.UTF-8"
    w.command = ["sh", "-c", 'test "$LC_NUMERIC" = C']
    w.said = (
        'Traceback (most recent call last):\n  File "parse.py", line 4, in <module>\n    value = float(fields[2])\n'
        "ValueError: could not convert string to float: '3,14'\n"
    )


@pair("variable NCCL_IB_HCA", harmless=150)
def adapter_of_another_node(w: World) -> None:
    """NCCL looks for an adapter that is not here."""
    w.harmless(packages=50, variables=100)
    w.good.variables["NCCL_IB_HCA"], w.bad.variables["NCCL_IB_HCA"] = "mlx5_0", "mlx5_9"
    w.command = ["sh", "-c", 'test "$NCCL_IB_HCA" = mlx5_0']
    w.said = (
        "node3:88:120 [0] NCCL INFO NET/IB : No device found.\nnode3:88:120 [0] NCCL INFO NET/Socket : Using [0]eth0\n"
        "train.py: throughput is 212 samples/s, less than --min-throughput 900\n"
    )


@pair("variable CUDA_LAUNCH_BLOCKING", harmless=130)
def slow_without_a_message(w: World) -> None:
    """No error message: each launch waits for the one before it."""
    w.harmless(packages=60, variables=70)
    w.bad.variables["CUDA_LAUNCH_BLOCKING"] = "1"
    w.command = ["sh", "-c", 'test -z "$CUDA_LAUNCH_BLOCKING"']
    w.said = ""


@pair("package kernelpack", "variable KP_TARGET", harmless=120)
def build_and_target_together(w: World) -> None:
    """The older release takes every target, the newer one only sm_90."""
    w.harmless(packages=80, variables=40)
    for side, version, target in ((w.good, "1.8", "sm_90"), (w.bad, "2.1", "sm_80")):
        code = (
            "import os\ndef build():\n    target = os.environ.get('KP_TARGET')\n"
            "    if version != '1.8' or target != 'sm_90':\n"
            "        raise RuntimeError(f'no kernel of kernelpack {version} for {target}')\n"
        )
        side.install("kernelpack", version, code)
        side.variables["KP_TARGET"] = target
    w.python("import kernelpack\nkernelpack.build()\n")


@pair("option --cap-add CAP_SYS_ADMIN", harmless=20)
def container_without_a_capability(w: World) -> None:
    """Only GOOD's container may mount."""
    containers(w, ("--cap-add", "SYS_ADMIN"), ())
    code = "import ctypes, sys\nsys.exit(ctypes.CDLL(None).sethostname(b'x', 1) and 'Operation not permitted')"
    w.command = ["python3", "-c", code]
    w.said = "Operation not permitted"


@pair("option --group-add 2000", harmless=20)
def container_without_a_group(w: World) -> None:
    """The folder with the data belongs to a group that only GOOD's container has."""
    folder = w.good.program("data/rows.csv", "1\n").parent
    os.chown(folder / "rows.csv", 0, 2000)
    (folder / "rows.csv").chmod(0o640)
    folder.chmod(0o755)
    w.good.root.chmod(0o755)
    w.root.chmod(0o755)
    mount = ("-v", f"{folder}:/data", "--user", "1234")
    containers(w, (*mount, "--group-add", "2000"), mount)
    w.command = ["python3", "-c", "open('/data/rows.csv')"]
    w.said = "PermissionError: [Errno 13] Permission denied: '/data/rows.csv'"
