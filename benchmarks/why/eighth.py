"""The eighth set: 16 pairs, written down after the ranking changed for the seventh. Only the ranking is asked."""

from __future__ import annotations

from benchmarks.why.sixth import unlike
from benchmarks.why.world import World, pair


@pair("package fsspec", harmless=110)
def cached_in_a_local_file_system(w: World) -> None:
    """An older datasets does not know what a newer fsspec calls its local file system."""
    w.harmless(packages=70, variables=40)
    for side, version, protocol in ((w.good, "2023.9.0", "'file'"), (w.bad, "2023.10.0", "('file', 'local')")):
        side.install("fsspec", version, f"protocol = {protocol}\n")
        side.install(
            "datasets", "2.14.4", "import tqdm\nimport fsspec\n\ndef as_dataset():\n    fs = fsspec.protocol\n"
            "    if fs != 'file':\n        raise NotImplementedError('Loading a dataset "
            "cached in a LocalFileSystem is not "
            "supported.')\n",
        )  # fmt: skip
    w.python("import rich\nimport datasets\ndatasets.as_dataset()\n")


@pair("package pyarrow", harmless=90)
def pyarrow_without_extension_type(w: World) -> None:
    """pyarrow 21 removed a class."""
    w.harmless(packages=60, variables=30)
    w.good.install("pyarrow", "20.0.0", "class PyExtensionType: pass\n")
    w.bad.install("pyarrow", "21.0.0")
    w.python("import psutil\nimport pyarrow as pa\nclass Array(pa.PyExtensionType): pass\n")


@pair("package pydantic", harmless=130)
def schema_that_is_a_bool(w: World) -> None:
    """pydantic 2.11 makes another schema, and what reads it fails."""
    w.harmless(packages=80, variables=50)
    for side, version, schema in ((w.good, "2.10.6", "{}"), (w.bad, "2.11.1", "True")):
        side.install("pydantic", version, f"def schema(): return {schema}\n")
        side.install("gradio-client", "1.3.0", "def get_type(schema):\n    return 'const' in schema\n")
        side.install("gradio", "4.44.1", "import pydantic, gradio_client\ndef launch():\n"
                     "    info = pydantic.schema()\n    return gradio_client.get_type(info)\n")  # fmt: skip
    w.python("import gradio\ngradio.launch()\n")


@pair("variable HF_HUB_ENABLE_HF_TRANSFER", harmless=100)
def transfer_that_is_not_installed(w: World) -> None:
    """BAD asks for a faster download, for which neither side has the package."""
    w.harmless(packages=50, variables=50)
    said = (
        "ValueError: Fast download using 'hf_transfer' is enabled "
        "(HF_HUB_ENABLE_HF_TRANSFER=1) but 'hf_transfer' package "
        "is not available in your environment. Try `pip install hf_transfer`.\n"
    )
    unlike(w, "HF_HUB_ENABLE_HF_TRANSFER", "0", "1", said)


@pair("variable HTTPS_PROXY", harmless=120)
def proxy_refuses_the_tunnel(w: World) -> None:
    """The proxy forbids the connection; another token differs, too."""
    w.harmless(variables=119)
    w.good.variables["CI_JOB_TOKEN"], w.bad.variables["CI_JOB_TOKEN"] = "a1b2c3d4e5", "f6a7b8c9d0"
    said = (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='huggingface.co', "
        "port=443): Max retries exceeded with "
        "url: / (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel "
        "connection failed: 403 Forbidden')))\n"
    )
    unlike(w, "HTTPS_PROXY", "http://10.0.0.3:3128", "http://10.0.0.9:3128", said)


@pair("variable KUBECONFIG", harmless=80)
def configuration_that_is_gone(w: World) -> None:
    """The file of another cluster is not here."""
    w.harmless(variables=80)
    said = "error: stat /etc/kube/old.conf: no such file or directory\n"
    unlike(w, "KUBECONFIG", "/etc/kube/new.conf", "/etc/kube/old.conf", said)


@pair("variable CUDA_DEVICE_ORDER", harmless=140)
def small_gpu_first(w: World) -> None:
    """Without PCI_BUS_ID the fastest GPU is not the one that the job expects."""
    w.harmless(packages=60, variables=80)
    w.good.variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    w.command = ["sh", "-c", 'test -n "$CUDA_DEVICE_ORDER"']
    w.said = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 "
        "has a total capacity of 7.79 GiB "
        "of which 7.01 GiB is free.\n"
    )


@pair("variable PYTORCH_CUDA_ALLOC_CONF", harmless=140)
def fragmented_memory(w: World) -> None:
    """GOOD has expandable segments."""
    w.harmless(packages=60, variables=80)
    w.good.variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    w.command = ["sh", "-c", 'test -n "$PYTORCH_CUDA_ALLOC_CONF"']
    w.said = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. If reserved but unallocated memory is "
        "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
    )


@pair("variable NCCL_P2P_DISABLE", harmless=150)
def collective_that_hangs(w: World) -> None:
    """On this board copies between GPUs hang; GOOD does without them."""
    w.harmless(packages=60, variables=90)
    w.good.variables["NCCL_P2P_DISABLE"] = "1"
    w.command = ["sh", "-c", 'test -n "$NCCL_P2P_DISABLE"']
    w.said = (
        "[rank0]:[E1124 10:11:12.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1024, Timeout(ms)=1800000) ran for 1800032 milliseconds before "
        "timing out.\n"
    )


@pair("limit nproc", harmless=60, seen=("host.nproc",))
def openblas_wants_64_threads(w: World) -> None:
    """OpenBLAS can't make its threads."""
    w.harmless(variables=60)
    w.good.limits, w.bad.limits = {"nproc": 4000}, {"nproc": 900}
    w.command = ["true"]
    w.said = "OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily unavailable\n"


@pair("package xformers", harmless=130)
def xformers_of_another_torch(w: World) -> None:
    """xFormers was built for another torch; it says so under another spelling of its name."""
    w.harmless(packages=80, variables=50)
    for side, version in ((w.good, "0.0.28.post3"), (w.bad, "0.0.27.post2")):
        side.install("xformers", version)
        side.install("torch", "2.5.1")
    w.said = (
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built "
        "for:\n    PyTorch 2.4.0+cu121 with "
        "CUDA 1201 (you have 2.5.1+cu124)\n    Python  3.11.9 (you have 3.11.2)\n"
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs\n"
    )


@pair("package flash-attn", harmless=130)
def flash_attention_of_another_abi(w: World) -> None:
    """The module that can't be loaded has another name than the package."""
    w.harmless(packages=80, variables=50)
    for side, version in ((w.good, "2.7.4"), (w.bad, "2.5.6")):
        name = "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"
        side.install("flash-attn", version, files={"flash_attn/__init__.py": "", name: version})
        side.install("torch", "2.5.1")
    w.said = (
        f"ImportError: {w.bad.site}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN3c104cuda9SetDeviceEi\n"
    )


@pair("variable TRITON_CACHE_DIR", harmless=100)
def cache_that_may_not_be_written(w: World) -> None:
    """The cache is on a file system of others."""
    w.harmless(variables=100)
    said = "PermissionError: [Errno 13] Permission denied: '/nfs/ro/triton/3f2a91'\n"
    unlike(w, "TRITON_CACHE_DIR", "/var/tmp/triton", "/nfs/ro/triton", said)


@pair("variable VLLM_WORKER_MULTIPROC_METHOD", harmless=120)
def workers_that_are_forked(w: World) -> None:
    """The message has what GOOD is set to, and not the variable."""
    w.harmless(packages=50, variables=70)
    w.good.variables["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    w.command = ["sh", "-c", 'test -n "$VLLM_WORKER_MULTIPROC_METHOD"']
    w.said = (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
        "multiprocessing, you must use the "
        "'spawn' start method\n"
    )


@pair("variable WANDB_API_KEY", harmless=90)
def key_that_was_cut(w: World) -> None:
    """A key that lost its end when it was copied."""
    w.harmless(variables=90)
    good, bad = "hf_G" + "a" * 36, "hf_G" + "a" * 20
    unlike(w, "WANDB_API_KEY", good, bad, "wandb: ERROR API key must be 40 characters long, yours was 24\n")


@pair("variable OMPI_ALLOW_RUN_AS_ROOT", harmless=90)
def mpirun_as_root(w: World) -> None:
    """GOOD allows it."""
    w.harmless(variables=90)
    w.good.variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    w.command = ["sh", "-c", 'test -n "$OMPI_ALLOW_RUN_AS_ROOT"']
    w.said = (
        "mpirun has detected an attempt to run as root.\nRunning as root is *strongly* "
        "discouraged as any mistake can damage "
        "your system.\nYou can override this protection by adding the --allow-run-as-root option to the cmd line.\n"
    )
