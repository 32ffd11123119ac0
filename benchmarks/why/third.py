"""The third set: 20 pairs, written down after the ranking was changed for the second, and run once before it changed
again.
"""

from __future__ import annotations

from benchmarks.why.boxes import containers
from benchmarks.why.second import wheels
from benchmarks.why.world import World, pair


@pair("package click", harmless=44)
def click_8_lost_a_function(w: World) -> None:
    """A script calls what Click 8.1 removed."""
    w.harmless(packages=40)
    wheels(w, "click==8.0.4", "click==8.1.7")
    w.python("import click\nclick.get_terminal_size()\n")


@pair("package httpx", harmless=34)
def httpx_without_proxies(w: World) -> None:
    """httpx 0.28 removed an argument that a client library passes."""
    w.harmless(packages=30)
    same = "httpcore==1.0.7 h11==0.14.0 anyio==4.6.2 sniffio==1.3.1 certifi==2024.2.2"
    wheels(w, "httpx==0.27.2", "httpx==0.28.1", same)
    code = "import httpx\ndef client(): return httpx.Client(proxies=None)\n"
    for side in (w.good, w.bad):
        side.install("chatapi", "1.3.0", code)
    w.python("import chatapi\nchatapi.client()\n")


@pair("package python-dateutil", harmless=84)
def dateutil_is_missing(w: World) -> None:
    """python-dateutil is not installed; GOOD has it."""
    w.harmless(packages=40, variables=40)
    wheels(w, "python-dateutil==2.9.0.post0", "", "six==1.16.0")
    w.python("from dateutil.parser import parse\nparse('2024-01-01')\n")


@pair("variable TRANSFORMERS_OFFLINE", harmless=100)
def offline_mode(w: World) -> None:
    """A library goes to no network because of a variable that its message does not name."""
    w.harmless(packages=50, variables=50)
    w.bad.variables["TRANSFORMERS_OFFLINE"] = "1"
    code = (
        "import os\ndef load(name):\n    if os.environ.get('TRANSFORMERS_OFFLINE') == '1':\n"
        "        raise OSError(\"We couldn't connect to 'https://huggingface.co' to load this file\")\n"
    )
    for side in (w.good, w.bad):
        side.install("modelhub", "4.40.0", code)
    w.python("import modelhub\nmodelhub.load('x')\n")


@pair("variable PYTHONSAFEPATH", harmless=60)
def module_beside_the_script(w: World) -> None:
    """PYTHONSAFEPATH keeps the script's folder off sys.path."""
    w.harmless(variables=60)
    (w.root / "local_helpers.py").write_text("")
    w.bad.variables["PYTHONSAFEPATH"] = "1"
    w.python("import local_helpers\n")


@pair("variable AWS_PROFILE", harmless=90)
def profile_of_somebody_else(w: World) -> None:
    """The profile is not in the file of this machine."""
    w.harmless(variables=90)
    w.good.variables["AWS_PROFILE"], w.bad.variables["AWS_PROFILE"] = "default", "research"
    w.python(
        "import os\nname = os.environ['AWS_' 'PROFILE']\n"
        "if name != 'default': raise LookupError(f'The config profile ({name}) could not be found')\n"
    )


@pair("variable PGHOST", harmless=120)
def database_of_another_network(w: World) -> None:
    """The host's name can't be resolved here."""
    w.harmless(packages=20, variables=100)
    w.good.variables["PGHOST"], w.bad.variables["PGHOST"] = "127.0.0.1", "db7.lab.invalid"
    w.python("import os, socket\nsocket.gethostbyname(os.environ['PGHOST'])\n")


@pair("variable LD_LIBRARY_PATH", harmless=80)
def older_libstdcxx(w: World) -> None:
    """A module system's libstdc++ comes before the system's."""
    w.harmless(variables=80)
    w.bad.compiled("gcc9/libstdc++.so.6", "int nothing;", "-shared", "-fPIC")
    w.bad.variables["LD_LIBRARY_PATH"] = str(w.bad.root / "gcc9")
    w.python(
        "import ctypes\nif not hasattr(ctypes.CDLL('libstdc++.so.6'), '__cxa_throw'):\n"
        '    raise ImportError("libstdc++.so.6: version `GLIBCXX_3.4.32\' not found (required by engine.so)")\n'
    )


@pair("limit nofile", harmless=60, seen=("host.nofile",))
def database_can_not_be_opened(w: World) -> None:
    """No descriptor is left for SQLite, which says something else."""
    w.harmless(variables=60)
    w.good.limits, w.bad.limits = {"nofile": 4096}, {"nofile": 64}
    w.python(
        "import os, sqlite3, contextlib\nheld = []\nwith contextlib.suppress(OSError):\n"
        "    for _ in range(500): held.append(os.dup(1))\n"
        "sqlite3.connect('data.db').execute('create table t (a)')\n"
    )


@pair("limit nproc", harmless=40, seen=("host.nproc",))
def no_more_threads(w: World) -> None:
    """The limit of processes."""
    w.harmless(variables=40)
    w.good.limits, w.bad.limits = {"nproc": 4096}, {"nproc": 128}
    w.python(
        "import resource\nif resource.getrlimit(resource.RLIMIT_NPROC)[0] < 1000:\n"
        '    raise RuntimeError("can\'t start new thread")\n'
    )


@pair("package reader-x", "variable DATA_LAYOUT", harmless=150)
def reader_and_layout_together(w: World) -> None:
    """The new release reads neither layout; the old one reads only the old layout."""
    w.harmless(packages=100, variables=50)
    for side, version, layout in ((w.good, "1.0", "rows"), (w.bad, "2.0", "columns")):
        code = "import os\ndef load():\n    if (version, os.getenv('DATA_LAYOUT')) != ('1.0', 'rows'):\n"
        side.install("reader-x", version, f"{code}        raise ValueError('header mismatch')\n")
        side.variables["DATA_LAYOUT"] = layout
    w.python("import reader_x\nreader_x.load()\n")


@pair("package fusedops", harmless=60)
def compiled_for_another_library(w: World) -> None:
    """Another build of one version lacks a symbol."""
    w.harmless(packages=60)
    for side, symbol in ((w.good, "fused_v3"), (w.bad, "fused_v2")):
        made = side.compiled("build/_ops.so", f"int {symbol}(void) {{ return 1; }}", "-shared", "-fPIC")
        text = f"import ctypes\n# {symbol} {made.stat().st_size}\nctypes.CDLL({str(made)!r}).fused_v3\n"
        side.install("fusedops", "0.7.1", text)
    w.python("import fusedops\n")


@pair("option --read-only", harmless=20)
def container_read_only(w: World) -> None:
    """The root of BAD's container can't be written."""
    containers(w, (), ("--read-only",))
    w.command = ["python3", "-c", "open('/var/cache/x', 'w')"]
    w.said = "OSError: [Errno 30] Read-only file system: '/var/cache/x'"


@pair("option --cap-drop ALL", harmless=20)
def container_without_capabilities(w: World) -> None:
    """BAD's container has no capabilities."""
    containers(w, (), ("--cap-drop", "ALL"))
    w.command = ["python3", "-c", "import os; os.chown('/etc/hostname', 1, 1)"]
    w.said = "PermissionError: [Errno 1] Operation not permitted: '/etc/hostname'"


@pair("option --memory", harmless=20)
def container_little_memory(w: World) -> None:
    """64 MiB of memory; GOOD has 1 GiB."""
    containers(w, ("--memory", "1g", "--memory-swap", "2g"), ("--memory", "64m", "--memory-swap", "2g"))
    limit = "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null"
    w.command = ["sh", "-c", f"test $({limit}) -gt 268435456"]
    w.said = "Killed"
