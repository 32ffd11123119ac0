"""The fourth set: 30 pairs, eight of them in facts.py, written down at once and run once before the ranking changed.

Failures that people report, with the words that the programs print; three come without an error message.
"""

from __future__ import annotations

from benchmarks.why.boxes import containers
from benchmarks.why.second import wheels
from benchmarks.why.world import World, pair


@pair("package sqlalchemy", harmless=124)
def engine_without_execute(w: World) -> None:
    """SQLAlchemy 2 removed a method; the script imports other packages that differ, too."""
    w.harmless(packages=60, variables=60)
    wheels(w, "sqlalchemy==1.4.52", "sqlalchemy==2.0.30", "typing-extensions==4.11.0 greenlet==3.0.3")
    w.python(
        "import requests, rich, sympy\nimport tqdm\nfrom sqlalchemy import create_engine\n\n"
        "engine = create_engine('sqlite://')\nengine.execute('select 1')\n"
    )


@pair("package pillow", harmless=84)
def pillow_10_without_antialias(w: World) -> None:
    """A package resizes with a constant that Pillow 10 removed."""
    w.harmless(packages=80)
    wheels(w, "pillow==9.5.0", "pillow==10.3.0")
    code = "from PIL import Image\ndef resize(image): return image.resize((2, 2), Image.ANTIALIAS)\n"
    for side in (w.good, w.bad):
        side.install("augment", "0.4.1", code)
    w.python("import augment\nfrom PIL import Image\naugment.resize(Image.new('L', (4, 4)))\n")


@pair("package huggingface-hub", harmless=64)
def hub_without_cached_download(w: World) -> None:
    """huggingface_hub 0.26 removed a function that an older library imports."""
    w.harmless(variables=60)
    same = "filelock==3.14.0 fsspec==2024.3.1 pyyaml==6.0.1 requests==2.31.0 tqdm==4.66.4 typing-extensions==4.11.0"
    wheels(
        w,
        "huggingface-hub==0.25.2",
        "huggingface-hub==0.26.0",
        f"{same} urllib3==2.2.1 certifi==2024.2.2 charset-normalizer==3.3.2",
    )
    for side in (w.good, w.bad):
        side.install("sentence-encoders", "2.2.2", "from huggingface_hub import HfApi, cached_download\n")
    w.python("import sentence_encoders\n")


@pair("package pydantic", harmless=44)
def pydantic_2_below_settings(w: World) -> None:
    """Pydantic 2 below code for 1."""
    w.harmless(packages=40)
    same = "typing-extensions==4.11.0 annotated-types==0.6.0 pydantic-core==2.18.2"
    wheels(w, "pydantic==1.10.15", "pydantic==2.7.1", same)
    code = "from pydantic import BaseModel\nclass Shape(BaseModel):\n    dims: list\n"
    code += "    def short(self): return self.__fields__['dims'].outer_type_\n"
    for side in (w.good, w.bad):
        side.install("serving", "0.9", code)
    w.python("import serving\nserving.Shape(dims=[1]).short()\n")


@pair("package typing-extensions", harmless=94)
def typing_extensions_too_old(w: World) -> None:
    """A package imports a name that an older typing_extensions lacks."""
    w.harmless(packages=60, variables=30)
    wheels(w, "typing-extensions==4.11.0", "typing-extensions==4.4.0")
    for side in (w.good, w.bad):
        side.install("schema-core", "2.16.3", "from typing_extensions import TypeIs, deprecated\n")
    w.python("import schema_core\n")


@pair("package torch", harmless=60)
def extension_for_another_torch(w: World) -> None:
    """A compiled extension of another release of torch: the message has a mangled name of torch's C++."""
    w.harmless(packages=60)
    w.both("torch", "2.6.0", "2.7.1")
    code = (
        "import torch\nif not torch.version.startswith('2.6'):\n    raise ImportError(__file__.replace('__init__.py', "
        "'flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so') + "
        "': undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs')\n"
    )
    for side in (w.good, w.bad):
        side.install("flash-attn", "2.7.4.post1", code)
    w.python("from flash_attn import version\n")


@pair("package torchvision", harmless=80)
def torchvision_of_another_torch(w: World) -> None:
    """torchvision does not belong to this torch."""
    w.harmless(packages=80)
    w.good.install("torch", "2.9.1")
    w.bad.install("torch", "2.9.1")
    for side, version, code in (
        (w.good, "0.24.1", ""),
        (w.bad, "0.22.1", "raise RuntimeError('operator torchvision::nms does not exist')\n"),
    ):
        side.install("torchvision", version, code)
    w.python("import torch\nimport torchvision\n")


@pair("package tokenizers", harmless=150)
def tokenizers_out_of_range(w: World) -> None:
    """A package checks the version of another one."""
    w.harmless(packages=100, variables=50)
    w.both("tokenizers", "0.19.1", "0.21.0")
    code = (
        "import tokenizers\nif tokenizers.version >= '0.20':\n    raise ImportError(f'tokenizers>=0.19,<0.20 is "
        "required for a normal functioning of this module, but found tokenizers=={tokenizers.version}.')\n"
    )
    for side in (w.good, w.bad):
        side.install("transformers", "4.44.2", code)
    w.python("import transformers\n")


@pair("variable PYTEST_ADDOPTS", harmless=74)
def options_of_a_plugin_that_is_not_here(w: World) -> None:
    """PYTEST_ADDOPTS has an option that this pytest does not know."""
    w.harmless(packages=20, variables=50)
    w.good.variables["PYTEST_ADDOPTS"], w.bad.variables["PYTEST_ADDOPTS"] = "-q", "-q -n 4"
    wheels(w, "", "", "pytest==8.2.0 iniconfig==2.0.0 pluggy==1.5.0")
    (w.root / "test_one.py").write_text("def test_one(): pass\n")
    w.command = ["python", "-m", "pytest", str(w.root / "test_one.py")]


@pair("variable HF_HOME", harmless=100)
def cache_folder_can_not_be_made(w: World) -> None:
    """HF_HOME leads to where nothing can be written; the message has a path below it."""
    w.harmless(packages=50, variables=50)
    w.good.variables["HF_HOME"], w.bad.variables["HF_HOME"] = str(w.root / "cache"), "/proc/models"
    w.python(
        "import os, pathlib\nhome = pathlib.Path(os.environ.get('HF_' + 'HOME'))\n"
        "(home / 'hub' / 'models--bert').mkdir(parents=True, exist_ok=True)\n"
    )


@pair("variable SSL_CERT_FILE", harmless=90)
def no_certificates(w: World) -> None:
    """SSL_CERT_FILE names an empty file."""
    w.harmless(variables=90)
    w.bad.program("certs.pem", "")
    w.bad.variables["SSL_CERT_FILE"] = str(w.bad.root / "certs.pem")
    w.python(
        "import ssl, os\nif not os.path.getsize(ssl.get_default_verify_paths().cafile or __file__):\n"
        "    raise ssl.SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
        "unable to get local issuer certificate')\n"
    )


@pair("variable LC_ALL", harmless=110)
def locale_that_is_not_installed(w: World) -> None:
    """LC_ALL names a locale that is not installed."""
    w.harmless(variables=110)
    w.good.variables["LC_ALL"], w.bad.variables["LC_ALL"] = "C.UTF-8", "de_DE.UTF-8"
    w.python("import locale\nlocale.setlocale(locale.LC_ALL, '')\n")


@pair("variable PYTORCH_CUDA_ALLOC_CONF", harmless=120)
def word_of_the_allocator(w: World) -> None:
    """A word of the allocator's settings is misspelt; the message does not name the variable."""
    w.harmless(packages=60, variables=60)
    name = "PYTORCH_CUDA_ALLOC_CONF"
    w.good.variables[name], w.bad.variables[name] = "expandable_segments:True", "expandable_segment:True"
    w.python(
        f"import os\nfor word in os.environ['{name}'.lower().upper()].split(','):\n"
        "    if word.split(':')[0] != 'expandable_segments':\n"
        "        raise RuntimeError(f\"Unrecognized key '{word.split(':')[0]}' in CUDA allocator config.\")\n"
    )


@pair("variable NCCL_SOCKET_IFNAME", harmless=160)
def no_socket_interface(w: World) -> None:
    """NCCL looks for an interface that is not here."""
    w.harmless(packages=60, variables=100)
    w.good.variables["NCCL_SOCKET_IFNAME"], w.bad.variables["NCCL_SOCKET_IFNAME"] = "lo", "bond0"
    message = "node7:412:412 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found"
    w.command = ["sh", "-c", f'test "$NCCL_SOCKET_IFNAME" = lo || {{ echo "{message}"; exit 1; }}']


@pair("variable HSA_OVERRIDE_GFX_VERSION", harmless=140)
def tensile_library_of_no_gpu(w: World) -> None:
    """GOOD has HSA_OVERRIDE_GFX_VERSION."""
    w.harmless(packages=70, variables=70)
    w.good.variables["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
    message = (
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file or directory "
        "for GPU arch : gfx1036"
    )
    w.command = ["sh", "-c", f'test "$HSA_OVERRIDE_GFX_VERSION" || {{ echo "{message}"; exit 134; }}']


@pair("variable PYTORCH_JIT", "variable TORCHINDUCTOR_CACHE_DIR", harmless=100)
def jit_and_cache_together(w: World) -> None:
    """Either the JIT is off, or a folder for what it compiles can be written: BAD has neither."""
    w.harmless(variables=100)
    w.good.variables |= {"PYTORCH_JIT": "1", "TORCHINDUCTOR_CACHE_DIR": str(w.good.root)}
    w.bad.variables |= {"PYTORCH_JIT": "0", "TORCHINDUCTOR_CACHE_DIR": "/proc/inductor"}
    w.python(
        "import os\nif os.environ['PYTORCH_' 'JIT'] == '0': raise SystemExit('PYTORCH_JIT=0: scripting is disabled')\n"
        "os.makedirs(os.environ['TORCHINDUCTOR_' 'CACHE_DIR'], exist_ok=True)\n"
    )
    w.said = "PYTORCH_JIT=0: scripting is disabled\nPermissionError: [Errno 13] Permission denied: '/proc/inductor'\n"


@pair("variable CUDA_VISIBLE_DEVICES", harmless=120)
def hidden_by_an_empty_value(w: World) -> None:
    """No error message: a job ends without a word, and CUDA_VISIBLE_DEVICES is empty."""
    w.harmless(packages=60, variables=60)
    w.good.variables["CUDA_VISIBLE_DEVICES"], w.bad.variables["CUDA_VISIBLE_DEVICES"] = "0", ""
    w.command = ["sh", "-c", 'test -n "$CUDA_VISIBLE_DEVICES"']
    w.said = ""


@pair("package triton", harmless=90)
def triton_differs_and_nothing_is_printed(w: World) -> None:
    """No error message: the results are wrong, and of the GPU stack only triton differs."""
    w.harmless(packages=90)
    for side in (w.good, w.bad):
        side.install("torch", "2.9.1")
    w.both("triton", "3.5.1", "3.4.0")
    w.python("import triton, sys\nsys.exit(triton.version != '3.5.1')\n")
    w.said = ""


@pair("option --pids-limit", harmless=20)
def container_few_processes(w: World) -> None:
    """The container may have 12 processes."""
    containers(w, ("--pids-limit", "500"), ("--pids-limit", "12"))
    code = "import threading as t, time\nfor _ in range(40): t.Thread(target=time.sleep, args=(1,)).start()"
    w.command = ["python3", "-c", code]
    w.said = "RuntimeError: can't start new thread"


@pair("option --workdir", harmless=20)
def container_elsewhere(w: World) -> None:
    """The working directory of the container has no such script."""
    w.good.program("work/train.py", "print(1)\n")
    mount = ("-v", f"{w.good.root}/work:/work")
    containers(w, (*mount, "-w", "/work"), (*mount, "-w", "/root"))
    w.command = ["python3", "train.py"]
    w.said = "python3: can't open file '/root/train.py': [Errno 2] No such file or directory"


@pair("option --tmpfs /scratch", harmless=20)
def container_small_scratch(w: World) -> None:
    """A scratch folder of 8 MiB."""
    containers(w, ("--tmpfs", "/scratch:size=256m"), ("--tmpfs", "/scratch:size=8m"))
    w.command = ["python3", "-c", "open('/scratch/shard-0', 'wb').write(bytes(32 << 20))"]
    w.said = "OSError: [Errno 28] No space left on device"


@pair("variable LD_LIBRARY_PATH", harmless=20)
def container_library_not_found(w: World) -> None:
    """LD_LIBRARY_PATH leads away from the library."""
    w.good.compiled("lib/libgraphs.so.3", "int graphs = 1;", "-shared", "-fPIC")
    mount = ("-v", f"{w.good.root}/lib:/opt/graphs/lib")
    containers(w, (*mount, "-e", "LD_LIBRARY_PATH=/opt/graphs/lib"), (*mount, "-e", "LD_LIBRARY_PATH=/opt/graph/lib"))
    w.command = ["python3", "-c", "import ctypes; ctypes.CDLL('libgraphs.so.3')"]
    w.said = "OSError: libgraphs.so.3: cannot open shared object file: No such file or directory"
