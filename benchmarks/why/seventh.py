"""The seventh set: 22 pairs, four of them in facts.py, written down after the ranking changed for the sixth."""

from __future__ import annotations

import resource

from benchmarks.why.boxes import containers
from benchmarks.why.sixth import unlike
from benchmarks.why.world import World, pair


@pair("package transformers", harmless=150)
def cache_without_a_method(w: World) -> None:
    """Code that came with a model calls what transformers 4.49 removed; other imports of it differ, too."""
    w.harmless(packages=90, variables=60)
    for side, version, method in ((w.good, "4.47.1", "get_max_length"), (w.bad, "4.49.0", "get_max_cache_shape")):
        side.install("transformers", version, f"class DynamicCache:\n    def {method}(self): return 1\n")
    module = w.root / "modules/modeling_phi3.py"
    module.parent.mkdir()
    module.write_text(
        "import tqdm\nimport rich\nfrom transformers import DynamicCache\n\ndef forward():\n"
        "    cache = DynamicCache()\n    past = cache\n    return past.get_max_length()\n"
    )
    w.python(f"import sys\nsys.path.insert(0, {str(module.parent)!r})\nimport modeling_phi3\nmodeling_phi3.forward()\n")


@pair("package sentencepiece", harmless=120)
def tokenizer_needs_another_package(w: World) -> None:
    """The message names the missing package as a word among others."""
    w.harmless(packages=80, variables=40)
    w.good.install("sentencepiece", "0.2.0")
    for side in (w.good, w.bad):
        side.install(
            "tokenization", "1.0", "import importlib.util\ndef load():\n    if not importlib.util.find_spec("
            "'sentence' + 'piece'):\n        raise ValueError('Cannot instantiate this tokenizer from a slow version. "
            "If it\\'s based on sentencepiece, make sure you have sentencepiece installed.')\n",
        )  # fmt: skip
    w.python("import tokenization\ntokenization.load()\n")


@pair("package wheel", harmless=60)
def command_of_a_missing_package(w: World) -> None:
    """setuptools of that age has the command from a package of another name."""
    w.harmless(packages=40, variables=20)
    w.good.install("wheel", "0.43.0")
    w.python(
        "import importlib.util, sys\nif not importlib.util.find_spec('wh' + 'eel'):\n"
        "    sys.exit(\"error: invalid command 'bdist_wheel'\")\n"
    )


@pair("package ninja", harmless=100)
def builder_is_missing(w: World) -> None:
    """torch wants Ninja to compile an extension."""
    w.harmless(packages=60, variables=40)
    w.good.install("ninja", "1.11.1")
    for side in (w.good, w.bad):
        side.install(
            "torch", "2.5.1", "import importlib.util\ndef load():\n    if not importlib.util.find_spec('nin' + 'ja'):\n"
            "        raise RuntimeError('Ninja is required to load C++ extensions (pip install ninja to get it)')\n",
        )  # fmt: skip
    w.python("import torch\ntorch.load()\n")


@pair("variable CC", harmless=90)
def compiler_that_is_not_here(w: World) -> None:
    """CC names a compiler of another image."""
    w.harmless(variables=90)
    unlike(w, "CC", "gcc", "gcc-13", "error: command 'gcc-13' failed: No such file or directory\n")


@pair("variable CUDA_HOME", harmless=140)
def toolkit_that_is_gone(w: World) -> None:
    """CUDA_HOME leads to a toolkit that was removed."""
    w.harmless(packages=60, variables=80)
    said = "/bin/sh: 1: /usr/local/cuda-12.1/bin/nvcc: not found\nninja: build stopped: subcommand failed.\n"
    unlike(w, "CUDA_HOME", "/usr/local/cuda-12.8", "/usr/local/cuda-12.1", said)


@pair("variable ALL_PROXY", harmless=80)
def proxy_of_another_protocol(w: World) -> None:
    """A SOCKS proxy, for which requests lacks a package."""
    w.harmless(variables=80)
    w.bad.variables["ALL_PROXY"] = "socks5://10.0.0.9:1080"
    w.command = ["sh", "-c", 'test -z "$ALL_PROXY"']
    w.said = "requests.exceptions.InvalidSchema: Missing dependencies for SOCKS support.\n"


@pair("variable OMP_NUM_THREADS", harmless=130)
def slow_by_one_thread(w: World) -> None:
    """No error message: the job is too slow, with one thread."""
    w.harmless(packages=60, variables=70)
    unlike(w, "OMP_NUM_THREADS", "16", "1", "")


@pair("variable GLOO_SOCKET_IFNAME", harmless=150)
def interface_that_gloo_can_not_find(w: World) -> None:
    """Gloo is pointed to an interface of another node."""
    w.harmless(packages=50, variables=100)
    said = (
        "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != nullptr. "
        "Unable to find address for: ens9\n"
    )
    unlike(w, "GLOO_SOCKET_IFNAME", "eth0", "ens9", said)


@pair("variable TORCH_LOGS", harmless=110)
def log_that_torch_does_not_know(w: World) -> None:
    """A slip in the name of a log."""
    w.harmless(packages=50, variables=60)
    said = (
        "ValueError: Invalid log settings: dyanmo, must be a comma separated list of fully qualified module names, "
        "registered log names or registered artifact names.\n"
    )
    unlike(w, "TORCH_LOGS", "dynamo", "dyanmo", said)


@pair("limit as", harmless=70, seen=("host.as_bytes",))
def little_address_space(w: World) -> None:
    """The service may map 300 MiB."""
    w.harmless(variables=70)
    w.good.limits, w.bad.limits = {"as": resource.RLIM_INFINITY}, {"as": 300 << 20}
    w.python("x = bytearray(600 << 20)\n")


@pair("variable PGHOST", "variable PGPASSWORD", harmless=100)
def host_and_password_together(w: World) -> None:
    """An old host and an old password: the message is of the host."""
    w.harmless(variables=100)
    w.good.variables |= {"PGHOST": "db-new", "PGPASSWORD": "n3w-hf_Gq"}
    w.bad.variables |= {"PGHOST": "db-old", "PGPASSWORD": "0ld-hf_Gq"}
    w.command = ["sh", "-c", 'test "$PGHOST" = db-new && test "$PGPASSWORD" = n3w-hf_Gq']
    w.said = 'psql: error: could not translate host name "db-old" to address: Name or service not known\n'


@pair("variable OPENAI_API_KEY", harmless=90)
def key_that_was_revoked(w: World) -> None:
    """Another key, of which nothing is printed."""
    w.harmless(variables=90)
    good, bad = (f"sk-proj-hf_G{letter * 40}" for letter in "ab")
    unlike(w, "OPENAI_API_KEY", good, bad, "openai.AuthenticationError: Error code: 401 - Incorrect API key provided\n")


@pair("file sitecustomize.py", harmless=60, seen=())
def file_that_nobody_lists(w: World) -> None:
    """A file that runs when Python starts, left behind by hand."""
    w.harmless(packages=60)
    (w.bad.site / "sitecustomize.py").write_text("import builtins\nbuiltins.sorted = None\n")
    w.python("print(sorted([2, 1]))\n")


@pair("option --security-opt seccomp=unconfined", harmless=20)
def container_under_a_filter(w: World) -> None:
    """Only GOOD's container may make a user namespace."""
    containers(w, ("--security-opt", "seccomp=unconfined"), ())
    w.command = ["unshare", "-U", "true"]
    w.said = "unshare: unshare failed: Operation not permitted\n"


@pair("option --ulimit fsize", harmless=20)
def container_with_small_files(w: World) -> None:
    """A file may have 1 MiB."""
    containers(w, (), ("--ulimit", "fsize=1048576:1048576"))
    w.command = ["python3", "-c", "open('/root/x', 'wb').write(bytes(4 << 20))"]
    w.said = "OSError: [Errno 27] File too large\n"


@pair("option --privileged", harmless=20)
def container_that_may_not_mount(w: World) -> None:
    """Only GOOD's container is privileged."""
    containers(w, ("--privileged",), ())
    w.command = ["mount", "-t", "tmpfs", "none", "/mnt"]
    w.said = "mount: /mnt: permission denied.\n"


@pair("option --tmpfs /tmp", harmless=20)
def container_with_a_small_folder(w: World) -> None:
    """Only BAD's container has a small file system in /tmp."""
    containers(w, (), ("--tmpfs", "/tmp:size=1m"))
    w.command = ["python3", "-c", "open('/tmp/x', 'wb').write(bytes(4 << 20))"]
    w.said = "OSError: [Errno 28] No space left on device\n"
