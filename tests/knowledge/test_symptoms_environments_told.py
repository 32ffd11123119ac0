"""What a line tells of an environment or an image: which build of torch it was given, for which torch its extensions
were made, from whose folder it takes packages; and what nearly reads so."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

NVIDIA = "\n\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 5070\n"
AMD = "\n\nGPUs:\nGPU 0: AMD Radeon RX 7900 XTX\n"
PIP = "\n\n$ pip list\nPackage    Version\n---------- -------\n"
TORCH = "\n\nPyTorch version: {}\n"
NOT_FOR_CUDA = "NotImplementedError: Could not run '{}' with arguments from the 'CUDA' backend."
INSIDE = "\n\nrunning inside a container: yes\n"
FAILS = "AttributeError: module 'torch._C' has no attribute '_SomeStorageBase'\n"
CONDA = "\n\n    virtual packages : __archspec=1=zen3\n                       __cuda=12.4=0\n"
NO_SUCH = "ERROR: Could not find a version that satisfies the requirement torch=={} (from versions: {})\n"
NONE_FOUND = "ERROR: No matching distribution found for torch=={}\n"
CASES = [
    # Both were built for this CUDA: the Python has none of the first.
    (NO_SUCH.format("2.5.1", "2.6.0+cu124") + NONE_FOUND.format("2.5.1"), "python-version-unsupported"),
    (NO_SUCH.format("2.4.1", "none") + NONE_FOUND.format("2.4.1"), "python-version-unsupported"),
    (NOT_FOR_CUDA.format("torchaudio::rnnt_loss"), "torch-companion-mismatch"),
    (NOT_FOR_CUDA.format("torchcodec_ns::add_video_stream") + NVIDIA, "torch-companion-mismatch"),
    (NOT_FOR_CUDA.format("torch_scatter::scatter_sum"), "extension-abi-mismatch"),
    (
        "llama.cpp runs on the CPU\nnvidia-smi works inside the container\nlibcuda.so is not available",
        "gpu-libs-not-found",
    ),
    (
        "runs on the CPU\nlibcuda.so.1 is not in the container\nnvidia-smi answers, mounted from the host",
        "gpu-libs-not-found",
    ),
    ("the CPU is used\nCUDA packages of torch are downloaded by the installer" + AMD, "torch-built-for-other-vendor"),
    ("the CPU is used\nNVIDIA wheels get installed" + AMD, "torch-built-for-other-vendor"),
    ("the CPU is used\nthe lock file pins torch to the cu128 index" + AMD, "torch-built-for-other-vendor"),
    ("the compiled .so files do not load, they need cu126" + TORCH.format("2.6.0+cu124"), "extension-abi-mismatch"),
    (
        "the kernels do not load\nthe wheel is built for torch 2.6" + TORCH.format("2.7.0+cu126"),
        "extension-abi-mismatch",
    ),
    ("import fails\nwheel for PyTorch 2.4, compiled" + TORCH.format("2.5.1"), "extension-abi-mismatch"),
    (FAILS + "a newer one lies in $HOME/.local, pip did not ask", "python-user-site-leak"),
    (FAILS + "torch 2.5.1 in ~/.local", "python-user-site-leak"),
    (FAILS + "a second torch came with pip install --user", "python-user-site-leak"),
    ("the container on ARM gets the CPU version of PyTorch" + NVIDIA, "torch-cpu-only-build"),
    ("the image ships a CPU-only torch" + NVIDIA, "torch-cpu-only-build"),
    ("ImportError when using triton==3.3.0", "triton-mismatch"),
    ("triton 3.5.0 raises an AttributeError in torch.compile", "triton-mismatch"),
    ("training runs on the CPU" + PIP + "pytorch cpu build from conda-forge" + NVIDIA, "torch-cpu-only-build"),
    ("pytorch 2.5.1 cpu_generic_py312_0 conda-forge" + TORCH.format("2.5.1+cpu") + CONDA, "torch-cpu-only-build"),
    (PIP + "pytorch cpu build" + "\n\nconda info lists the __cuda virtual package\n", "torch-cpu-only-build"),
]
NEAR = [
    # These indexes end before the release.
    (
        NO_SUCH.format("2.4.1", "2.2.1+rocm5.6, 2.2.2+rocm5.6") + NONE_FOUND.format("2.4.1"),
        "python-version-unsupported",
    ),
    (NO_SUCH.format("2.6.0", "2.4.1+cu121, 2.5.1+cu121") + NONE_FOUND.format("2.6.0"), "python-version-unsupported"),
    (NOT_FOR_CUDA.format("torchaudio::rnnt_loss"), "extension-abi-mismatch"),
    # The tool was run on the host: what the container lacks is the GPU as a whole.
    ("runs on the CPU\nnvidia-smi works on the host\nlibcuda.so is not available" + INSIDE, "gpu-libs-not-found"),
    ("the CPU is used\nROCm packages of torch are downloaded by the installer" + AMD, "torch-built-for-other-vendor"),
    (
        "the CPU is used\nCUDA packages of torch are downloaded by the installer" + NVIDIA,
        "torch-built-for-other-vendor",
    ),
    (
        "the kernels do not load\nthe wheel is built for torch 2.7" + TORCH.format("2.7.0+cu126"),
        "extension-abi-mismatch",
    ),
    ("the wheel is built for torch 2.6 and works with it" + TORCH.format("2.7.0"), "extension-abi-mismatch"),
    ("the compiled .so files do not load, they need cu126" + TORCH.format("2.6.0+cu126"), "extension-abi-mismatch"),
    (FAILS + "a second torch is in /opt/conda, pip install --user was not used", "python-user-site-leak"),
    (FAILS + "a newer one in ~/.local was removed before", "python-user-site-leak"),
    (FAILS + "the launcher lies in another folder, ~/.local/bin", "python-user-site-leak"),
    ("the image ships the CUDA build, not the CPU build of torch" + NVIDIA, "torch-cpu-only-build"),
    ("the CI image ships a CPU-only torch on purpose" + NVIDIA, "torch-cpu-only-build"),
    ("ImportError: cannot import name 'x' from 'mypackage', triton 3.3.0 is installed", "triton-mismatch"),
    # conda was told to act as if a GPU were there, or only asks for one.
    (PIP + "pytorch cpu build" + CONDA + "CONDA_OVERRIDE_CUDA=12.4\n", "torch-cpu-only-build"),
    (PIP + "pytorch cpu build\n\nthe cuda build needs the __cuda virtual package\n", "torch-cpu-only-build"),
]
test_lines_of_environments_name_their_cause = names(CASES)
test_what_nearly_reads_so_names_another_or_none = names_not(NEAR)
