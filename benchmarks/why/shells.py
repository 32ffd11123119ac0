"""Pairs that differ in variables, in what the loader takes, in limits and in the working directory."""

from __future__ import annotations

import resource

from benchmarks.why.world import World, pair

_FAILS_OF = """import os
for name, wanted in {}.items():
    if os.environ.get(name) != wanted:
        raise SystemExit('no connection')
"""


@pair("variable APP_MODE", harmless=100)
def unknown_variable(w: World) -> None:
    """A variable of the program itself, which its message names."""
    w.harmless(variables=100)
    w.good.variables["APP_MODE"], w.bad.variables["APP_MODE"] = "plain", "turbo"
    w.python("import os\nif os.environ['APP_MODE'] == 'turbo': raise ValueError('APP_MODE=turbo is not supported')\n")


@pair("variable NCCL_SOCKET_IFNAME", harmless=200)
def interface_of_another_node(w: World) -> None:
    """NCCL is pointed to an interface that is not there; the message names neither."""
    w.harmless(variables=200)
    w.good.variables["NCCL_SOCKET_IFNAME"], w.bad.variables["NCCL_SOCKET_IFNAME"] = "lo", "eth9"
    w.python(
        "import os, socket\nif os.environ['NCCL_SOCKET_IFNAME'] not in [n for _, n in socket.if_nameindex()]:\n"
        "    raise RuntimeError('NCCL WARN Bootstrap : no socket interface found')\n"
    )


@pair("variable LD_LIBRARY_PATH", harmless=30)
def older_library_first(w: World) -> None:
    """LD_LIBRARY_PATH leads to an older copy of a library."""
    w.harmless(variables=30)
    for side, number in ((w.good, 2), (w.bad, 1)):
        side.compiled("lib/libwhy.so", f"int version(void) {{ return {number}; }}", "-shared", "-fPIC")
        side.variables["LD_LIBRARY_PATH"] = str(side.root / "lib")
    w.python(
        "import ctypes\nif ctypes.CDLL('libwhy.so').version() < 2:\n"
        "    raise OSError('libwhy.so: version 2 not found')\n"
    )


@pair("variable LD_PRELOAD", harmless=60)
def preloaded_library(w: World) -> None:
    """A preloaded library answers for a function of libc."""
    w.harmless(variables=60)
    made = w.bad.compiled("lib/trace.so", "int sched_yield(void) { return -1; }", "-shared", "-fPIC")
    w.bad.variables["LD_PRELOAD"] = str(made)
    w.python("import ctypes\nassert ctypes.CDLL(None).sched_yield() == 0, 'sched_yield failed'\n")


@pair("variable PYTHONPATH", harmless=60)
def shadowed_module(w: World) -> None:
    """PYTHONPATH leads to a folder with a module of the standard library's name."""
    w.harmless(packages=20, variables=40)
    w.bad.program("old/statistics.py", "mean = None\n")
    w.bad.variables["PYTHONPATH"] = str(w.bad.root / "old")
    w.python("import statistics\nstatistics.mean([1, 2])\n")


@pair("variable CUDA_VISIBLE_DEVICES", harmless=100)
def empty_is_not_unset(w: World) -> None:
    """CUDA_VISIBLE_DEVICES is set, and empty."""
    w.harmless(variables=100)
    w.bad.variables["CUDA_VISIBLE_DEVICES"] = ""
    w.python(
        "import os\nif os.environ.get('CUDA_VISIBLE_DEVICES') == '': raise RuntimeError('No CUDA GPUs are available')\n"
    )


@pair("variable APP_SETTING_100", "variable APP_SETTING_400", harmless=498)
def two_of_five_hundred(w: World) -> None:
    """Two of 500 variables that only together let it work; nothing names them."""
    w.harmless(variables=500)
    wanted = {name: w.good.variables[name] for name in ("APP_SETTING_100", "APP_SETTING_400")}
    w.python(_FAILS_OF.format(wanted))


@pair("variable APP_SETTING_10", "variable APP_SETTING_77", "variable APP_SETTING_150", harmless=197)
def three_of_two_hundred(w: World) -> None:
    """Three of 200 variables that only together let it work."""
    w.harmless(variables=200)
    names = ("APP_SETTING_10", "APP_SETTING_77", "APP_SETTING_150")
    w.python(_FAILS_OF.format({name: w.good.variables[name] for name in names}))


@pair("variable PATH", harmless=30)
def another_tool_first(w: World) -> None:
    """PATH finds another program of one name first."""
    w.harmless(variables=30)
    w.good.program("bin/convert-model", "#!/bin/sh\nexit 0\n")
    w.bad.program("old/convert-model", "#!/bin/sh\necho 'convert-model: unknown option' >&2\nexit 64\n")
    w.good.variables["PATH"] = f"{w.good.root}/bin:/usr/bin:/bin"
    w.bad.variables["PATH"] = f"{w.bad.root}/old:/usr/bin:/bin"
    w.command = ["sh", "-c", "convert-model --fast"]


@pair("variable HF_TOKEN", harmless=50)
def secret(w: World) -> None:
    """A token that has expired; its value is printed nowhere."""
    w.harmless(variables=50)
    for side, word in ((w.good, "Good"), (w.bad, "Gone")):
        side.variables["HF_TOKEN"] = f"hf_{word}q1w2E3r4T5y6U7i8O9p0A1s2D3f4"
    w.python(
        "import os\nif 'Gone' in os.environ['HF_TOKEN']:\n"
        "    raise PermissionError('401 Client Error: Unauthorized for url')\n"
    )


@pair("variable APP_BANNER", harmless=20)
def value_of_many_lines(w: World) -> None:
    """The value has a newline, an escape sequence and bytes that are no UTF-8."""
    w.harmless(variables=20)
    w.good.variables["APP_BANNER"], w.bad.variables["APP_BANNER"] = "plain", "a\nb\x1b[31m\udcff"
    w.python("import os\nos.environ['APP_BANNER'].encode()\n")


@pair("limit nofile", harmless=60, seen=("host.nofile",))
def open_files(w: World) -> None:
    """The limit of open files is low."""
    w.harmless(variables=60)
    w.good.limits, w.bad.limits = {"nofile": 4096}, {"nofile": 128}
    w.python("held = [open('/dev/null') for _ in range(300)]\n")


@pair("limit stack", harmless=20, seen=("host.stack_bytes",))
def small_stack(w: World) -> None:
    """The stack is too small for a program that recurses."""
    w.harmless(variables=20)
    w.good.limits, w.bad.limits = {"stack": 8 << 20}, {"stack": 256 << 10}
    text = "int deep(int n) { volatile char a[1024]; a[0] = n; return n ? deep(n - 1) + a[0] : 0; }\n"
    program = w.bad.compiled("bin/deep", f"{text}int main(void) {{ return deep(2000) == 1; }}")
    w.command = [str(program)]


@pair("limit nproc", harmless=20, seen=("host.nproc",))
def few_processes(w: World) -> None:
    """The limit of processes is low; the program checks it when it starts."""
    w.harmless(variables=20)
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    w.good.limits, w.bad.limits = {"nproc": min(4096, most) if most > 0 else 4096}, {"nproc": 512}
    w.python(
        "import resource as r\nif r.getrlimit(r.RLIMIT_NPROC)[0] < 1000: raise SystemExit('pthread_create failed')\n"
    )


@pair("folder working directory", harmless=20, seen=())
def working_directory(w: World) -> None:
    """A file in the working directory shadows a module."""
    w.harmless(variables=20)
    w.good.folder, w.bad.folder = w.root / "here", w.root / "there"
    for side in (w.good, w.bad):
        side.folder.mkdir()
    (w.bad.folder / "config.json").write_text('{"gpus": 16}')
    (w.good.folder / "config.json").write_text('{"gpus": 8}')
    w.python("import json\nassert json.load(open('config.json'))['gpus'] == 8, 'invalid device ordinal'\n")


@pair("folder working directory", "variable APP_PROFILE", harmless=60, seen=("environment[APP_PROFILE]",))
def folder_and_variable_together(w: World) -> None:
    """A variable names a file that only GOOD's working directory has."""
    w.harmless(variables=60)
    w.good.folder, w.bad.folder = w.root / "here", w.root / "there"
    for side, name in ((w.good, "new"), (w.bad, "old")):
        side.folder.mkdir()
        (side.folder / f"{name}.ini").write_text("broken" if name == "old" else "fine")
        side.variables["APP_PROFILE"] = name
    w.python("import os\nassert open(os.environ['APP_PROFILE'] + '.ini').read() == 'fine'\n")


@pair("package engine-x", "variable ENGINE_CACHE", harmless=240)
def package_and_variable_together(w: World) -> None:
    """A new release fails with one value of a variable, and the old value fails with it, too."""
    w.harmless(packages=120, variables=120)
    for side, version, value in ((w.good, "1", "v1"), (w.bad, "2", "v2")):
        code = "import os\ndef start():\n    if os.environ['ENGINE_CACHE'] + version != 'v11':\n"
        code += "        raise RuntimeError('bad cache')\n"
        side.install("engine-x", version, code)
        side.variables["ENGINE_CACHE"] = value
    w.python("import engine_x\nengine_x.start()\n")
