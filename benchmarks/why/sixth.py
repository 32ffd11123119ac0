"""The sixth set: 30 pairs, six of them in facts.py, written down at once and run once for a first figure.

Messages are those that the programs print (torch, NCCL, UCX, Open MPI, pip, curl, Qt, ncurses, Go, Redis).
"""

from __future__ import annotations

from benchmarks.why.boxes import containers
from benchmarks.why.second import wheels
from benchmarks.why.world import World, pair


def unlike(w: World, name: str, good: str, bad: str, said: str) -> None:
    """COMMAND works where the variable is as in GOOD; `said` is what the real program prints."""
    w.good.variables[name], w.bad.variables[name] = good, bad
    w.command = ["sh", "-c", f'test "${name}" = "{good}"']
    w.said = said


@pair("package packaging", harmless=86)
def packaging_22_without_legacy_version(w: World) -> None:
    """packaging 22 removed a class that an older tool imports."""
    w.harmless(packages=50, variables=33)
    real = (("idna", "3.6", "3.10"), ("attrs", "23.2.0", "24.2.0"), ("toml", "0.10.1", "0.10.2"))
    for side, column, version in ((w.good, 1, "21.3"), (w.bad, 2, "22.0")):
        for row in real:
            side.install(row[0], row[column])
        code = "class Version: pass\n" + ("class LegacyVersion: pass\n" if version == "21.3" else "")
        side.install("packaging", version, files={"packaging/__init__.py": "", "packaging/version.py": code})
        side.install("oldtool", "3.1", "from packaging.version import LegacyVersion, Version\n")
    w.python("import oldtool\n")


@pair("package itsdangerous", harmless=44)
def itsdangerous_without_json(w: World) -> None:
    """Real wheels: a script reads what itsdangerous 2.1 removed."""
    w.harmless(packages=20, variables=20)
    wheels(w, "itsdangerous==2.0.1", "itsdangerous==2.1.2")
    w.python("from itsdangerous import json\n")


@pair("package antlr4-python3-runtime", harmless=130)
def grammar_of_another_runtime(w: World) -> None:
    """A grammar that was generated for an older runtime."""
    w.harmless(packages=90, variables=40)
    for side, version, expected in ((w.good, "4.9.3", 3), (w.bad, "4.13.2", 4)):
        code = (
            f"SERIALIZED = {expected}\n\ndef deserialize(data):\n    if data != SERIALIZED:\n"
            "        raise Exception(f'Could not deserialize ATN with version {data} (expected {SERIALIZED}).')\n"
        )
        files = {"antlr4/__init__.py": "", "antlr4/atn/__init__.py": "", "antlr4/atn/ATNDeserializer.py": code}
        side.install("antlr4-python3-runtime", version, files=files)
        side.install("omegaconf", "2.3.0", "from antlr4.atn import ATNDeserializer\nATNDeserializer.deserialize(3)\n")
    w.python("import rich, tqdm\nimport omegaconf\n")


@pair("package jwt", harmless=70)
def jwt_over_pyjwt(w: World) -> None:
    """Only BAD has `jwt`, whose module lies over that of PyJWT."""
    w.harmless(packages=40, variables=30)
    for side in (w.good, w.bad):
        side.install("PyJWT", "2.8.0", files={"jwt/__init__.py": "def encode(*a): return 'x'\n"})
    w.bad.install("jwt", "1.3.1", files={"jwt/__init__.py": "class JWT: pass\n"})
    w.python("import jwt\njwt.encode({}, 'k')\n")


@pair("package nvidia-nccl-cu12", harmless=110)
def nccl_too_old_for_torch(w: World) -> None:
    """Somebody pinned an older NCCL than torch was built for; the message has a function of it."""
    w.harmless(packages=70, variables=40)
    code = (
        "import os, nvidia_nccl_cu12\nif nvidia_nccl_cu12.version != '2.27.5':\n    raise ImportError(os.path.dirname("
        "__file__) + '/lib/libtorch_cuda.so: undefined symbol: ncclCommWindowRegister')\n"
    )
    for side, nccl in ((w.good, "2.27.5"), (w.bad, "2.21.5")):
        side.install("torch", "2.9.1", code)
        side.install("nvidia-nccl-cu12", nccl)
    w.python("import torch\n")


@pair("package nvidia-cudnn-cu12", harmless=150)
def cudnn_of_another_release(w: World) -> None:
    """torch checks the release of cuDNN."""
    w.harmless(packages=90, variables=60)
    code = (
        "import nvidia_cudnn_cu12\nif not nvidia_cudnn_cu12.version.startswith('9.1'):\n    raise RuntimeError('cuDNN "
        "version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (8, 9, 2). PyTorch "
        "already comes bundled with cuDNN. One option to resolving this error is to ensure PyTorch can find the "
        "bundled cuDNN. ')\n"
    )
    for side, cudnn in ((w.good, "9.1.0.70"), (w.bad, "8.9.2.26")):
        side.install("torch", "2.5.1", code)
        side.install("nvidia-cudnn-cu12", cudnn)
    w.python("import torch\n")


@pair("package tzdata", harmless=95)
def time_zone_of_a_later_year(w: World) -> None:
    """A zone was renamed after BAD's tzdata came out."""
    w.harmless(packages=60, variables=35)
    code = "def zone(key):\n    if version < '2022.5':\n        raise KeyError(f'No time zone found with key {key}')\n"
    for side, version in ((w.good, "2024.1"), (w.bad, "2021.5")):
        side.install("tzdata", version, code)
        code_of_user = "import tzdata\nclass ZoneInfoNotFoundError(KeyError): pass\ndef load(key):\n    try:\n"
        code_of_user += "        return tzdata.zone(key)\n    except KeyError as e:\n"
        code_of_user += "        raise ZoneInfoNotFoundError(*e.args) from None\n"
        side.install("zones", "1.0", code_of_user)
    w.python("import zones\nzones.load('Europe/Kyiv')\n")


@pair("package ray", "variable RAY_ADDRESS", harmless=140)
def ray_and_address_together(w: World) -> None:
    """Another release than the cluster's, and the address of a cluster that is gone."""
    w.harmless(packages=90, variables=50)
    code = (
        "import os\ndef init():\n    if version != '2.9.0':\n        raise RuntimeError('Version mismatch: The cluster "
        "was started with:\\n    Ray: 2.9.0\\nThis process was started with:\\n    Ray: ' + version)\n"
        "    if os.environ['RAY_ADDRESS'] != '10.0.0.4:6379':\n        raise ConnectionError('ray://' + "
        "os.environ['RAY_ADDRESS'])\n"
    )
    for side, version, address in ((w.good, "2.9.0", "10.0.0.4:6379"), (w.bad, "2.40.0", "10.0.0.9:6379")):
        side.install("ray", version, code)
        side.variables["RAY_ADDRESS"] = address
    w.python("import ray\nray.init()\n")


@pair("variable PYTHONHASHSEED", harmless=60)
def seed_that_is_no_number(w: World) -> None:
    """A seed that Python refuses."""
    w.harmless(variables=60)
    w.bad.variables["PYTHONHASHSEED"] = "fixed"
    w.python("print(1)\n")


@pair("variable TMPDIR", harmless=80)
def path_of_a_socket_is_too_long(w: World) -> None:
    """multiprocessing makes its socket below TMPDIR."""
    w.harmless(variables=80)
    long = w.root / ("scratch-of-the-job-" * 6)
    long.mkdir()
    w.good.variables["TMPDIR"], w.bad.variables["TMPDIR"] = "/tmp", str(long)
    w.python("import multiprocessing.connection as c\nc.Listener(family='AF_UNIX').close()\n")


@pair("variable TERM", harmless=90)
def terminal_that_nobody_knows(w: World) -> None:
    """The service inherited TERM from a terminal whose description is not installed."""
    w.harmless(variables=90)
    unlike(w, "TERM", "xterm-256color", "xterm-kitty", "Error opening terminal: xterm-kitty.\n")


@pair("variable DISPLAY", harmless=100)
def display_that_is_not_there(w: World) -> None:
    """Qt finds no X server."""
    w.harmless(variables=100)
    said = (
        'qt.qpa.xcb: could not connect to display :1\nqt.qpa.plugin: Could not load the Qt platform plugin "xcb" in '
        '"" even though it was found.\nThis application failed to start because no Qt platform plugin could be '
        "initialized.\n"
    )
    unlike(w, "DISPLAY", ":99", ":1", said)


@pair("variable CURL_CA_BUNDLE", harmless=70)
def certificates_of_another_distribution(w: World) -> None:
    """curl reads its certificates where another distribution has them."""
    w.harmless(variables=70)
    said = "curl: (77) error setting certificate verify locations:  CAfile: /etc/pki/tls/certs/ca-bundle.crt\n"
    unlike(w, "CURL_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", said)


@pair("variable MPLBACKEND", harmless=110)
def plots_need_a_window(w: World) -> None:
    """Matplotlib is asked for windows."""
    w.harmless(packages=50, variables=60)
    for side in (w.good, w.bad):
        side.install(
            "matplotlib", "3.9.0", "import os\ndef figure():\n    if os.environ.get('MPLBACKEND') == 'TkAgg':\n"
            "        raise ImportError(\"Cannot load backend 'TkAgg' which requires the 'tk' interactive framework, as "
            "'headless' is currently running\")\n",
        )  # fmt: skip
    w.good.variables["MPLBACKEND"], w.bad.variables["MPLBACKEND"] = "Agg", "TkAgg"
    w.python("import matplotlib\nmatplotlib.figure()\n")


@pair("variable WORLD_SIZE", harmless=160)
def one_rank_too_many(w: World) -> None:
    """The job waits for a rank that nobody starts."""
    w.harmless(packages=60, variables=100)
    said = "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 3/4 clients joined.\n"
    unlike(w, "WORLD_SIZE", "3", "4", said)


@pair("variable HF_HUB_OFFLINE", harmless=120)
def no_downloads(w: World) -> None:
    """huggingface_hub may not go to the network, and its message does not name the variable."""
    w.harmless(packages=50, variables=70)
    said = (
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and "
        "outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, "
        "set 'local_files_only' to False.\n"
    )
    unlike(w, "HF_HUB_OFFLINE", "0", "1", said)


@pair("variable UCX_TLS", harmless=130)
def transport_that_ucx_has_not(w: World) -> None:
    """UCX is restricted to a transport of another machine."""
    w.harmless(variables=130)
    said = (
        "[1732471200.1] [n3:812 :0]     ucp_context.c:1112 UCX  WARN  transport 'rcx' is not available, please use one "
        "or more of: cma, posix, self, shm, sm, sysv, tcp\n[n3:812 :0] select.c:627  UCX  ERROR no active messages "
        "transport to <no debug data>: Unsupported operation\n"
    )
    unlike(w, "UCX_TLS", "tcp,self,sm", "rcx", said)


@pair("variable OMPI_MCA_btl", harmless=140)
def component_that_open_mpi_has_not(w: World) -> None:
    """A component that this Open MPI was built without."""
    w.harmless(packages=40, variables=100)
    said = (
        "A requested component was not found, or was unable to be opened.  This\nmeans that this component is either "
        "not installed or is unable to be\nused on your system (e.g., sometimes this means that shared libraries\n"
        "that the component requires are unable to be found/loaded).\n\nHost:      n3\nFramework: btl\n"
        "Component: openib\n"
    )
    unlike(w, "OMPI_MCA_btl", "tcp,self", "openib,self", said)


@pair("variable PIP_INDEX_URL", harmless=75)
def index_of_another_network(w: World) -> None:
    """The index of another network has none of the packages."""
    w.harmless(variables=75)
    said = (
        "Looking in indexes: http://mirror.build.example/simple\n"
        "ERROR: Could not find a version that satisfies the requirement mytool (from versions: none)\n"
        "ERROR: No matching distribution found for mytool\n"
    )
    good, bad = (f"http://mirror.{name}.example/simple" for name in ("train", "build"))
    unlike(w, "PIP_INDEX_URL", good, bad, said)


@pair("limit nofile", harmless=60, seen=("host.nofile",))
def go_says_it_in_small_letters(w: World) -> None:
    """A program in Go has no descriptor left."""
    w.harmless(variables=60)
    w.good.limits, w.bad.limits = {"nofile": 1024}, {"nofile": 64}
    w.said = "2026/11/24 10:12:01 http: Accept error: accept tcp [::]:8080: accept4: too many open files; retrying\n"
    w.command = ["sh", "-c", "test $(ulimit -n) -gt 64"]


@pair("option --cpuset-cpus", harmless=20)
def container_of_one_cpu(w: World) -> None:
    """A rank is bound to a CPU that the container may not use."""
    containers(w, ("--cpuset-cpus", "0-1"), ("--cpuset-cpus", "0"))
    w.command = ["taskset", "-c", "1", "true"]
    w.said = "taskset: failed to set pid 7's affinity: Invalid argument\n"


@pair("option --sysctl net.core.somaxconn", harmless=20)
def container_with_a_short_backlog(w: World) -> None:
    """The server asks for more waiting connections than the container's kernel setting allows."""
    containers(w, ("--sysctl", "net.core.somaxconn=4096"), ("--sysctl", "net.core.somaxconn=128"))
    w.command = ["sh", "-c", "test $(cat /proc/sys/net/core/somaxconn) -gt 500"]
    w.said = (
        "# WARNING: The TCP backlog setting of 511 cannot be enforced because /proc/sys/net/core/somaxconn is set to "
        "the lower value of 128.\n"
    )


@pair("option --tmpfs /scratch", harmless=20)
def container_scratch_without_programs(w: World) -> None:
    """Nothing may be executed on the scratch folder, where a compiler puts what it made."""
    containers(w, ("--tmpfs", "/scratch:exec"), ("--tmpfs", "/scratch:noexec"))
    w.command = ["sh", "-c", "printf '#!/bin/sh\\ntrue\\n' > /scratch/x; chmod +x /scratch/x; /scratch/x"]
    w.said = "sh: 1: /scratch/x: Permission denied\n"


@pair("variable MODEL_DIR", harmless=20)
def container_reads_another_folder(w: World) -> None:
    """The server looks for its model in a folder that the image has not."""
    containers(w, ("-e", "MODEL_DIR=/etc"), ("-e", "MODEL_DIR=/weights"))
    w.command = ["sh", "-c", "cat $MODEL_DIR/hostname"]
    w.said = "cat: /weights/hostname: No such file or directory\n"
