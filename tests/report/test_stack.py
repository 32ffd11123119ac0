"""The list of parts that are judged: nothing in it is said without an example in which it is so."""

from __future__ import annotations

from pathlib import Path

from doctor.engine.judge import judge
from doctor.engine.registry import checks
from doctor.facts.snapshot import Snapshot
from doctor.knowledge import Knowledge
from doctor.report import stack
from doctor.report.stack_parts import PARTS
from tests.each import each
from tests.rules.machines import Facts, build, mi300x_host

ROOT = Path(__file__).resolve().parents[2]
NAMED = (
    "torch", "torchvision", "torchaudio", "Triton", "flash-attention", "xformers", "vLLM", "SGLang", "DeepSpeed",
    "Megatron", "TransformerEngine", "Apex", "TensorRT-LLM", "transformers", "accelerate", "peft", "diffusers",
    "Text Generation Inference", "MLC-LLM and TVM", "ONNX Runtime", "bitsandbytes", "PaddlePaddle", "MindSpore",
    "TensorFlow", "JAX", "llama-cpp-python", "cuBLAS", "cuDNN", "cuFFT", "cuRAND", "cuSOLVER", "cuSPARSE", "NCCL",
    "rocBLAS", "hipBLASLt", "MIOpen", "rocFFT", "rocRAND", "rocSPARSE", "RCCL", "Nsight Systems", "Nsight Compute",
    "rocprofiler", "ROCm Systems Profiler, Omnitrace", "hipcc", "HIPIFY", "hipconfig", "nvcc",
)  # fmt: skip


def packages(*rows: tuple[str, str], **more: dict[str, object]) -> Facts:
    """`name=dict(requires=…)` gives one of them more fields."""
    fields = {name.replace("_", "-"): extra for name, extra in more.items()}
    listed = [{"name": n, "version": v, "location": "/env", **fields.get(n, {})} for n, v in rows]
    return {"packages": listed, "interpreter.version": "3.12.3"}


def on(vendor: str, arch: str, facts: Facts) -> Snapshot:
    gpu = {f"gpus[0000:01:00.0].{f}": v for f, v in {"vendor": vendor, "arch": arch, "name": "a GPU"}.items()}
    return build({**gpu, **facts})


def tool(name: str, version: str) -> Facts:
    return {f"tools[/usr/bin/{name}].{f}": v for f, v in {"name": name, "kind": "compiler", "version": version}.items()}


def install(kind: str, version: str, **components: str) -> Facts:
    rows = {"path": "/opt/x", "version": version, "kind": "prefix", "components": components, "selected_by": ["PATH"]}
    return {f"{kind}[/opt/x].{field}": value for field, value in rows.items()}


def code(package: str, *archs: str) -> Facts:
    name = f"binaries[/env/{package}.so]"
    kind = "gfx" if archs[0].startswith("gfx") else "sass"
    return {f"{name}.package": package, f"{name}.{kind}": archs, f"{name}.objects": [{"archs": archs, "number": 9}]}


def torch(version: str = "2.4.1", build_: str = "cuda", cuda: str | None = "12.1") -> Facts:
    facts: Facts = {"torch.installed": True, "torch.version": version, "torch.build": build_}
    return facts | ({"torch.cuda": cuda} if cuda else {})


def wants(name: str, version: str, *requires: str) -> Facts:
    rows = (("torch", "2.4.1"), ("numpy", "2.2.6"), (name, version))
    more: dict[str, dict[str, object]] = {name.replace("-", "_"): {"requires": requires}}
    return torch() | packages(*rows, **more)


def refuses(name: str, version: str) -> Facts:
    more: dict[str, dict[str, object]] = {name.replace("-", "_"): {"requires_python": "<3.12"}}
    return packages((name, version), **more)


EXAMPLES: tuple[tuple[str, str, Snapshot], ...] = (
    ("torchvision", "torch-companion-mismatch", build(wants("torchvision", "0.23.0", "torch==2.8.0"))),
    ("accelerate", "torch-companion-mismatch", build(wants("accelerate", "1.8.1", "torch>=2.6"))),
    ("Megatron", "torch-companion-mismatch", build(wants("megatron-core", "0.19.2", "torch>=2.6"))),
    ("SGLang", "torch-companion-mismatch", build(wants("sglang", "0.5.23", "torch==2.14.1"))),
    ("TensorRT-LLM", "torch-companion-mismatch", build(wants("tensorrt-llm", "1.2.1", "torch>=2.9.1"))),
    ("peft", "torch-companion-mismatch", build(wants("peft", "0.19.0", "torch>=2.6"))),
    ("DeepSpeed", "torch-companion-mismatch", build(wants("deepspeed", "0.18.0", "torch>=2.6"))),
    ("bitsandbytes", "torch-companion-mismatch", build(wants("bitsandbytes", "0.50.2", "torch>=2.6"))),
    ("Text Generation Inference", "torch-companion-mismatch",
     build(wants("text-generation-server", "3.3.0", "torch>=2.6"))),
    ("xformers", "extension-abi-mismatch", build(wants("xformers", "0.0.27", "torch==2.3.1"))),
    ("flash-attention", "extension-abi-mismatch", build(wants("flash-attn", "2.6.3", "torch==2.3.1"))),
    ("TransformerEngine", "extension-abi-mismatch",
     build(wants("transformer-engine-torch", "2.20.0", "torch==2.3.1"))),
    ("Apex", "extension-abi-mismatch", build(wants("apex", "0.1") | {
        "binaries[/env/amp_C.so].package": "apex", "binaries[/env/amp_C.so].torch_symbols": 3,
        "binaries[/env/amp_C.so].missing_symbols": ("_ZN3c105ErrorC1Ev",)})),
    ("vLLM", "vllm-build-mismatch", build(wants("vllm", "0.10.2", "torch==2.8.0"))),
    ("vLLM", "companion-kernel-lib-outdated",
     build(packages(("vllm", "0.33.0"), ("flashinfer-python", "0.6.14"),
                    vllm={"requires": ("flashinfer-python==0.7.2.post1",)}))),
    ("SGLang", "companion-kernel-lib-outdated",
     build(packages(("sglang", "0.5.0"), ("sgl-kernel", "0.1.0"), sglang={"requires": ("sgl-kernel==0.3.0",)}))),
    ("Triton", "triton-mismatch", build(torch() | packages(
        ("torch", "2.4.1"), ("triton", "3.1.0"), torch={"requires": ("triton==3.0.0",)}))),
    ("DeepSpeed", "toolkit-torch-mismatch",
     build(torch() | packages(("deepspeed", "0.14.5")) | install("cuda", "11.8.89"))),
    ("TensorFlow", "tensorflow-gpu-mismatch",
     build(packages(("tensorflow", "2.17.0"), ("nvidia-cudnn-cu12", "9.1.0.70")))),
    ("JAX", "jax-plugin-mismatch",
     build(packages(("jaxlib", "0.6.2"), ("jax-cuda12-plugin", "0.5.1")))),
    ("ONNX Runtime", "onnxruntime-gpu-mismatch",
     build(packages(("onnxruntime", "1.23.2"), ("onnxruntime-gpu", "1.31.1")))),
    ("ONNX Runtime", "gpu-libs-not-found", build(packages(("onnxruntime-gpu", "1.23.2")) | {
        f"plugin_libraries[onnxruntime-gpu libcudnn.so.9].{f}": v for f, v in
        {"package": "onnxruntime-gpu", "name": "libcudnn.so.9", "wanted_by": "/x.so"}.items()})),
    ("cuDNN", "gpu-libs-conflict", build(torch() | packages(
        ("torch", "2.4.1"), ("nvidia-cudnn-cu12", "8.9.2.26"), torch={"requires": ("nvidia-cudnn-cu12==9.1.0.70",)}))),
    ("NCCL", "known-bad-library-version", on("nvidia", "sm_90", packages(("nvidia-nccl-cu12", "2.21.5")))),
    ("cuBLAS", "gpu-tool-unsupported", on("nvidia", "sm_70", install("cuda", "13.0.96", cublas="13.1.0.3"))),
    ("cuSPARSE", "gpu-tool-unsupported", on("nvidia", "sm_70", install("cuda", "13.0.96", cusparse="12.6.3.3"))),
    ("nvcc", "gpu-tool-unsupported", on("nvidia", "sm_120", tool("nvcc", "12.4.131"))),
    ("Nsight Compute", "gpu-tool-unsupported", on("nvidia", "sm_61", tool("ncu", "2024.1.1.4"))),
    ("Nsight Systems", "gpu-tool-unsupported", on("nvidia", "sm_52", tool("nsys", "2023.4.4.54"))),
    ("nvprof", "gpu-tool-unsupported", on("nvidia", "sm_80", tool("nvprof", "12.4.127"))),
    ("hipcc", "gpu-tool-unsupported", on("amd", "gfx1201", tool("hipcc", "5.7.1"))),
    ("HIPIFY", "gpu-tool-unsupported",
     on("amd", "gfx942", tool("hipify-clang", "6.0.2") | install("cuda", "12.4.1"))),
    ("rocprofiler", "gpu-tool-unsupported", on("amd", "gfx1201", tool("rocprofv2", "6.2.0"))),
    ("ROCm Compute Profiler, Omniperf", "gpu-tool-unsupported", on("amd", "gfx906", tool("omniperf", "6.2.0"))),
    ("ROCm Systems Profiler, Omnitrace", "gpu-tool-unsupported", on("amd", "gfx950", tool("omnitrace-run", "6.2.0"))),
    ("hipcc", "host-libstdcxx-dev-missing", build(tool("hipcc", "5.7.1") | {
        "host.gcc_runtimes": ("12", "13"), "host.libstdcxx_headers": ("12",)})),
    ("rocFFT", "amd-gpu-unsupported-by-rocm", on("amd", "gfx1103", install("rocm", "6.2.0", rocfft="1.0.28"))),
    ("torch", "torch-missing-gpu-arch", on("nvidia", "sm_120", torch() | {"torch.arch_list": ("sm_80", "sm_90")})),
    ("torch", "torch-built-for-other-vendor", on("amd", "gfx942", torch())),
    ("torch", "torch-cpu-only-build", on("nvidia", "sm_90", torch("2.4.1+cpu", "cpu", None))),
    ("torch", "nvidia-driver-too-old", on("nvidia", "sm_90", torch("2.8.0", cuda="12.8") | {
        "nvidia_driver.loaded": True, "nvidia_driver.version": "470.82.01"})),
    ("torch", "torch-rocm-version-mismatch",
     mi300x_host({"torch.rocm": "7.0", "rocm": None} | install("rocm", "5.7.0")
                 | {"rocm[/opt/x].selected_by": ["LD_LIBRARY_PATH"]})),
    ("hipconfig", "rocm-path-broken", build(tool("hipconfig", "6.4.1") | install("rocm", "6.4.1") | {
        "environment": {"ROCM_PATH": "/opt/rocm-5.4.0"}})),
    *((part, "library-missing-gpu-arch", on("nvidia", "sm_61", packages((name, "1.0.0")) | code(name, "sm_80")))
      for part, name in (
          ("torchvision", "torchvision"), ("torchaudio", "torchaudio"), ("xformers", "xformers"), ("vLLM", "vllm"),
          ("SGLang", "sgl-kernel"), ("bitsandbytes", "bitsandbytes"), ("flash-attention", "flash-attn"),
          ("TransformerEngine", "transformer-engine"), ("Apex", "apex"), ("DeepSpeed", "deepspeed"),
          ("TensorRT-LLM", "tensorrt-llm"), ("llama-cpp-python", "llama-cpp-python"), ("TensorFlow", "tensorflow"),
          ("JAX", "jax-cuda12-plugin"), ("ONNX Runtime", "onnxruntime-gpu"), ("PaddlePaddle", "paddlepaddle-gpu"),
          ("CuPy", "cupy-cuda12x"))),
    *((part, "python-version-unsupported", build(refuses(name, "1.0.0")))
      for part, name in (("transformers", "transformers"), ("diffusers", "diffusers"), ("MindSpore", "mindspore"),
                         ("MLC-LLM and TVM", "apache-tvm"))),
    ("transformers", "numpy-abi-mismatch", build(wants("transformers", "4.40.0", "numpy<2.0"))),
)  # fmt: skip
_ELSEWHERE = {"host-compiler-unsupported", "amdgpu-rocm-version-skew", "blas-kernels-missing",
              "hipblaslt-unsupported-arch"}  # fmt: skip
"""Rules whose subject is no part (a compiler, a driver, a GPU), shown by tests of their own."""


@each("part, rule, machine", EXAMPLES)
def test_a_misfit_is_told_of_the_part(part: str, rule: str, machine: Snapshot) -> None:
    found = {each.part.name: each for each in stack.found(judge(machine, Knowledge()))}
    verdict = next(v for v in found[part].verdicts if v.rule == rule)
    assert verdict.state == "fault"
    assert verdict.text


def test_every_rule_of_the_list_has_an_example() -> None:
    listed = {rule for part in PARTS for _, rule in part.judged}
    assert listed <= {c.rule.id for c in checks()}
    assert listed - {rule for _, rule, _ in EXAMPLES} == _ELSEWHERE


def test_every_part_is_listed_and_judged_or_says_why_not() -> None:
    held = {part.name: part for part in PARTS}
    assert set(NAMED) <= set(held)
    assert [name for name, part in held.items() if not part.judged and not part.note] == []


def test_what_fits_and_what_is_not_known_are_told_apart() -> None:
    """torchvision of that torch; and no GPU of which its code could be judged."""
    fits = torch() | packages(
        ("torch", "2.4.1"),
        ("torchvision", "0.19.1"),
        torch={"requires": ()},
        torchvision={"requires": ("torch==2.4.1",)},
    )
    fits |= {"binaries": [], "host.machine": "x86_64"}
    found = {each.part.name: each for each in stack.found(judge(build(fits), Knowledge()))}
    states = {v.rule: v.state for v in found["torchvision"].verdicts}
    assert states["torch-companion-mismatch"] == "no fault"
    assert states["library-missing-gpu-arch"] == "unknown"
    assert "Nsight Compute" not in found
