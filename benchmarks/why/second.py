"""The second set: 22 pairs written down at once, before the ranking was looked at, and run once for a first figure.

The symptom is what COMMAND prints. Causes are what a person would name; the wheels are real ones.
"""

from __future__ import annotations

from benchmarks.why.boxes import containers
from benchmarks.why.packages import real
from benchmarks.why.world import World, pair

_OTHERS = (
    ("idna", "3.6", "3.10"),
    ("attrs", "23.2.0", "24.2.0"),
    ("packaging", "23.2", "24.1"),
    ("toml", "0.10.1", "0.10.2"),
)


def wheels(w: World, good: str, bad: str, same: str = "") -> None:
    """These wheels, and four that differ and do no harm."""
    rows = ([f"{row[0]}=={row[side]}" for row in _OTHERS] for side in (1, 2))
    real(w, *((*row, *given.split(), *same.split()) for row, given in zip(rows, (good, bad), strict=True)))


@pair("package werkzeug", harmless=64)
def werkzeug_3_below_flask_2(w: World) -> None:
    """Flask 2.2 imports url_quote, which Werkzeug 3 removed."""
    w.harmless(packages=30, variables=30)
    same = "flask==2.2.2 jinja2==3.1.4 markupsafe==2.1.5 itsdangerous==2.2.0 click==8.1.7"
    wheels(w, "werkzeug==2.2.3", "werkzeug==3.0.1", same)
    w.python("import flask\nflask.Flask('x')\n")


@pair("package urllib3", harmless=84)
def urllib3_2_below_requests_toolbelt(w: World) -> None:
    """requests-toolbelt 0.10 imports a module of urllib3 that release 2 removed."""
    w.harmless(packages=60, variables=20)
    same = "requests==2.31.0 requests-toolbelt==0.10.1 certifi==2024.2.2 charset-normalizer==3.3.2"
    wheels(w, "urllib3==1.26.18", "urllib3==2.2.1", same)
    w.python("from requests_toolbelt import MultipartEncoder\n")


@pair("package setuptools", harmless=54)
def no_setuptools_for_pkg_resources(w: World) -> None:
    """The module that is missing belongs to a distribution of another name."""
    w.harmless(packages=30, variables=20)
    wheels(w, "setuptools==69.5.1", "six==1.16.0")
    w.python("import pkg_resources\n")


@pair("package opencv-python-headless", harmless=60)
def distribution_of_another_name(w: World) -> None:
    """`import cv2`: the distribution's name shares no word with it."""
    w.harmless(packages=60)
    w.good.install("opencv-python-headless", "4.9.0.80", files={"cv2/__init__.py": "def imread(p): return p\n"})
    w.python("import cv2\ncv2.imread('x')\n")


@pair("package protobuf", harmless=44)
def protobuf_4_below_generated_code(w: World) -> None:
    """Code that an old protoc generated does not work with protobuf 4."""
    w.harmless(variables=40)
    wheels(w, "protobuf==3.20.3", "protobuf==4.25.3", "googleapis-common-protos==1.52.0")
    w.python("from google.rpc import status_pb2\n")


@pair("package marshmallow", harmless=104)
def marshmallow_4_below_environs(w: World) -> None:
    """environs 9 reads an attribute that marshmallow 4 removed."""
    w.harmless(packages=100)
    wheels(w, "marshmallow==3.21.1", "marshmallow==4.0.0", "environs==9.5.0 python-dotenv==1.0.1")
    w.python("import environs\nenvirons.Env().int('X', 1)\n")


@pair("package sampler", harmless=120)
def wrong_number_from_a_helper(w: World) -> None:
    """A package that the traceback passes through returned nothing; the exception is raised in another one."""
    w.harmless(packages=120)
    for side, version, answer in ((w.good, "1.4", "[1, 2]"), (w.bad, "1.5", "None")):
        side.install("sampler", version, f"def take(): return {answer}\n")
        side.install("trainer", "3.0", "import sampler\ndef fit():\n    for _ in sampler.take():\n        pass\n")
    w.python("import trainer\ntrainer.fit()\n")


@pair("variable PYTHONIOENCODING", harmless=120)
def output_is_ascii(w: World) -> None:
    """PYTHONIOENCODING makes the output ASCII."""
    w.harmless(packages=20, variables=100)
    w.bad.variables["PYTHONIOENCODING"] = "ascii"
    w.python("print('Gr\\u00f6\\u00dfe')\n")


@pair("variable PYTHONWARNINGS", harmless=100)
def warnings_are_errors(w: World) -> None:
    """PYTHONWARNINGS makes a warning of a package an exception."""
    w.harmless(packages=50, variables=50)
    w.bad.variables["PYTHONWARNINGS"] = "error"
    code = "import warnings\ndef run(): warnings.warn('solve() is deprecated', DeprecationWarning)\n"
    for side in (w.good, w.bad):
        side.install("solver", "1.0", code)
    w.python("import solver\nsolver.run()\n")


@pair("variable REQUESTS_CA_BUNDLE", harmless=50)
def certificates_are_gone(w: World) -> None:
    """The variable names a file that is not there; the message has its value, not its name."""
    w.harmless(variables=50)
    w.bad.variables["REQUESTS_CA_BUNDLE"] = "/etc/ssl/corp/bundle.pem"
    same = "requests==2.31.0 certifi==2024.2.2 charset-normalizer==3.3.2 urllib3==2.2.1"
    wheels(w, "", "", same)
    w.python(
        "import requests\ntry: requests.get('https://127.0.0.1:9/', timeout=2)\n"
        "except requests.ConnectionError: pass  # nobody serves there\n"
    )


@pair("variable http_proxy", harmless=80)
def proxy_is_gone(w: World) -> None:
    """A proxy that nobody serves."""
    w.harmless(variables=80)
    w.bad.variables["http_proxy"] = "http://127.0.0.1:9"
    w.python(
        "import http.server, threading, urllib.request\n"
        "s = http.server.HTTPServer(('127.0.0.2', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
        "urllib.request.urlopen(f'http://127.0.0.2:{s.server_port}/', timeout=5)\n"
    )


@pair("variable PYTHONOPTIMIZE", harmless=60)
def no_docstrings(w: World) -> None:
    """PYTHONOPTIMIZE=2 drops docstrings, which a package reads."""
    w.harmless(packages=60)
    w.bad.variables["PYTHONOPTIMIZE"] = "2"
    code = "def usage():\n    '''usage: tool'''\nHELP = usage.__doc__.splitlines()[0]\n"
    for side in (w.good, w.bad):
        side.install("toolkit", "1.0", code)
    w.python("import toolkit\n")


@pair("variable LD_LIBRARY_PATH", harmless=90)
def library_without_the_function(w: World) -> None:
    """LD_LIBRARY_PATH leads a program to a library without a function that it calls."""
    w.harmless(variables=90)
    for side, text in (
        (w.good, "int engine_start_v2(void) { return 0; }"),
        (w.bad, "int engine_start(void) { return 0; }"),
    ):
        side.compiled("lib/libengine.so", text, "-shared", "-fPIC")
        side.variables["LD_LIBRARY_PATH"] = str(side.root / "lib")
    main = "int engine_start_v2(void); int main(void) { return engine_start_v2(); }"
    flags = ("-Wl,-z,lazy", "-Wl,--no-as-needed", f"-L{w.good.root}/lib", "-lengine")
    program = w.good.compiled("bin/serve", main, *flags)
    w.command = [str(program)]


@pair("variable XDG_CONFIG_HOME", harmless=60)
def configuration_of_somebody_else(w: World) -> None:
    """The program reads its settings where XDG_CONFIG_HOME says; an entry is missing there."""
    w.harmless(variables=60)
    for side, text in ((w.good, '{"devices": 8}'), (w.bad, "{}")):
        side.program("conf/job.json", text)
        side.variables["XDG_CONFIG_HOME"] = str(side.root / "conf")
    w.python("import json, os\njson.load(open(os.environ['XDG_CONFIG_HOME'] + '/job.json'))['devices']\n")


@pair("variable MASTER_ADDR", "variable MASTER_PORT", harmless=150)
def rendezvous_elsewhere(w: World) -> None:
    """Address and port of the rendezvous are both of another job."""
    w.harmless(packages=50, variables=100)
    for side, address, port in ((w.good, "127.0.0.2", "29517"), (w.bad, "127.0.0.3", "29518")):
        side.variables["MASTER_ADDR"], side.variables["MASTER_PORT"] = address, port
    w.python(
        "import os, socket\ns = socket.socket()\ns.setsockopt(1, 2, 1)\ns.bind(('127.0.0.2', 29517))\ns.listen()\n"
        "socket.create_connection((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])), 3)\n"
    )


@pair("variable PYTHONPATH", harmless=100)
def old_copy_first(w: World) -> None:
    """PYTHONPATH leads to an old copy of an installed package."""
    w.harmless(packages=60, variables=40)
    for side in (w.good, w.bad):
        side.install("tables", "3.9", "def open_file(): return 1\n")
        side.variables["PYTHONPATH"] = str(side.root / "extra")
    w.bad.program("extra/tables/__init__.py", "def openFile(): return 1\n")
    w.good.program("extra/note.txt", "")
    w.python("import tables\ntables.open_file()\n")


@pair("variable RANK", harmless=90)
def rank_counts_from_one(w: World) -> None:
    """RANK is counted from 1."""
    w.harmless(variables=90)
    w.good.variables |= {"RANK": "0", "WORLD_SIZE": "8"}
    w.bad.variables |= {"RANK": "8", "WORLD_SIZE": "8"}
    w.python(
        "import os\nrank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])\n"
        "if rank >= size: raise ValueError(f'Invalid rank {rank}, rank should be in the interval [0, {size - 1}]')\n"
    )


@pair("limit memlock", harmless=60, seen=("host.memlock_bytes",))
def locked_memory(w: World) -> None:
    """RDMA can't register memory."""
    w.harmless(variables=60)
    w.good.limits, w.bad.limits = {"memlock": 4 << 20}, {"memlock": 64 << 10}
    w.python(
        "import resource\nif resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < 1 << 20:\n"
        "    raise RuntimeError('ibv_reg_mr failed: Cannot allocate memory')\n"
    )


@pair("device /dev/uinput0", harmless=20)
def container_without_a_device(w: World) -> None:
    """A device that only GOOD's container has."""
    containers(w, ("--device", "/dev/zero:/dev/uinput0"), ())
    w.command = ["python3", "-c", "open('/dev/uinput0', 'rb').read(1)"]
    w.said = "FileNotFoundError: [Errno 2] No such file or directory: '/dev/uinput0'"


@pair("option --shm-size", harmless=20, seen=("host.shm_bytes",))
def container_small_shm(w: World) -> None:
    """Shared memory of 16 MiB."""
    containers(w, ("--shm-size", "256m"), ("--shm-size", "16m"))
    w.command = ["python3", "-c", "open('/dev/shm/x', 'wb').write(bytes(64 << 20))"]
    w.said = "OSError: [Errno 28] No space left on device"


@pair("option --user", harmless=20)
def container_of_another_user(w: World) -> None:
    """BAD's container runs as a user that may not write there."""
    containers(w, ("--user", "0"), ("--user", "1000"))
    w.command = ["python3", "-c", "open('/var/lib/made', 'w')"]
    w.said = "PermissionError: [Errno 13] Permission denied: '/var/lib/made'"


@pair("option --volume /models", harmless=20)
def container_without_a_mount(w: World) -> None:
    """The folder with the weights is not mounted."""
    w.good.program("models/weights.bin", "x")
    containers(w, ("-v", f"{w.good.root}/models:/models"), ())
    w.command = ["python3", "-c", "open('/models/weights.bin')"]
    w.said = "FileNotFoundError: [Errno 2] No such file or directory: '/models/weights.bin'"
