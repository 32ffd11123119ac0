"""What an image, a wheel, an environment or a compiler lacks or has in another release: how people say it beside the
text of the loader or the compiler, and what nearly reads so."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

NO_FILE = ": cannot open shared object file: No such file or directory"
IMPORT = "ImportError: "
BUILDS = "the extension does not compile\n"
APPTAINER = "$ apptainer exec --nv image.sif python train.py\n"
CASES = [
    # Libraries of ROCm and of NVIDIA that came later, or that few programs use.
    (f"{IMPORT}libtensilelite-host.so.1{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}librpp.so.2{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libamd_comgr_loader.so.1{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libdevice_operations.so{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libcustatevec.so.1{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libnvjpeg2k.so.0{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libcufile_rdma.so.1{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libnvbufsurface.so.1.0.0{NO_FILE}", "gpu-libs-not-found"),
    (f"{IMPORT}libnvidia-ptxjitcompiler.so.1{NO_FILE}", "gpu-libs-not-found"),
    # The same in words.
    ("the runtime image does not contain libcudnn", "gpu-libs-not-found"),
    ("libhipblaslt is not part of the slim image", "gpu-libs-not-found"),
    ("the new image is broken due to missing librocblas.so.5", "gpu-libs-not-found"),
    ("could not find libcudart.so in LD_LIBRARY_PATH", "gpu-libs-not-found"),
    ("kernels are compiled at run time and there is no NVRTC in the runtime image", "gpu-libs-not-found"),
    ("the ROCm libraries are not bundled with the release", "gpu-libs-not-found"),
    ("the CUDA libraries are not in the image", "gpu-libs-not-found"),
    ("the server stops: libcurl.so.4 is not in the image", "system-library-missing"),
    ("missing libGL.so.1", "system-library-missing"),
    ("libopenblas.so.0 is not there", "system-library-missing"),
    ("gcc is not installed in the image and torch.compile fails", "system-library-missing"),
    ("Triton needs a C compiler", "system-library-missing"),
    # C++ headers, without the word "file".
    ("hipcc cannot compile a program of three lines: 'cmath' not found", "host-libstdcxx-dev-missing"),
    ("hipcc stops because cmath is missing", "host-libstdcxx-dev-missing"),
    ("the HIP sample does not find <vector>", "host-libstdcxx-dev-missing"),
    # NumPy.
    ("the torch wheel was built with NumPy 1", "numpy-abi-mismatch"),
    ("incompatible numpy version to the torch of the image", "numpy-abi-mismatch"),
    ("the build pulls numpy 2 and onnxruntime crashes on import", "numpy-abi-mismatch"),
    (
        "ValueError: numpy.ndarray size changed, may indicate binary incompatibility. Expected 88, got 80",
        "numpy-abi-mismatch",
    ),
    ("SystemError: initialization of _internal failed without raising an exception", "numpy-abi-mismatch"),
    # Packages of the account.
    ("pip packages of the user's home are used inside the container", "python-user-site-leak"),
    ("Python packages from the host leak into the container", "python-user-site-leak"),
    ("what pip put there with --user takes precedence over the image", "python-user-site-leak"),
    ("the conda environment sees packages of ~/.local", "python-user-site-leak"),
    ("user site-packages come before those of the venv", "python-user-site-leak"),
    (APPTAINER + "torch has a different version for another user", "python-user-site-leak"),
    (APPTAINER + "a second user gets another torch from the same image", "python-user-site-leak"),
    # A compiler that does not do.
    ("GCC 14 is not supported by nvcc of the image", "host-compiler-unsupported"),
    ("flash-attn does not compile with GCC 14", "host-compiler-unsupported"),
    ("rocBLAS build error with GCC 11", "host-compiler-unsupported"),
    ("CUDA 12.2 and GCC 13 are incompatible", "host-compiler-unsupported"),
    ("host compiler must be gcc 12", "host-compiler-unsupported"),
    ("nvcc fails with gcc 13, works with gcc 12", "host-compiler-unsupported"),
    ("MSVC 19.44 is rejected", "host-compiler-unsupported"),
    ("cudafe++ cannot parse GCC 16's headers", "host-compiler-unsupported"),
    ("CUDA 12 only supports up to GCC 14, the default is gcc15", "host-compiler-unsupported"),
    ("ggml does not build\ngcc14 is used as the CUDA host compiler", "host-compiler-unsupported"),
    # A toolkit of another major, while something is built.
    ("nvcc reports 11.4 while torch uses 12.1; the extension build fails", "toolkit-torch-mismatch"),
    ("CUDA_HOME is /usr/local/cuda-12.6, torch 2.1.0+cu118\n" + BUILDS, "toolkit-torch-mismatch"),
    # Kernels beside the framework.
    ("Requires Flash-Attention version >=2.7.1,<=2.8.2 but got 2.8.3.", "companion-kernel-lib-outdated"),
    ("the flashinfer version is too low", "companion-kernel-lib-outdated"),
    ("the image ships aiter 0.1.4, vLLM needs 0.1.6", "companion-kernel-lib-outdated"),
    # Paths that end at their space.
    (r"'J:\Some' is not recognized as an internal or external command", "install-path-has-space"),
    (r"ERROR: Invalid requirement: 'Diffusion\\webui\\requirements.txt'", "install-path-has-space"),
    ("ninja: error: 'C:/Users/Ann', needed by 'main.o', missing and no known rule", "install-path-has-space"),
    # Releases with a fault.
    (
        "MIOpen: Error [EvaluateInvokers] Invalid elapsed time detected in EvaluateInvokers, failed condition",
        "known-bad-library-version",
    ),
    ("TF32 tests fail after the hipBLASLt update", "known-bad-library-version"),
    ("reverting MIOpen makes the tests pass", "known-bad-library-version"),
]
NEAR = [
    (f"{IMPORT}libEGL_nvidia.so.0{NO_FILE}", "system-library-missing"),
    (f"{IMPORT}libtensilelite-host.so.1{NO_FILE}", "system-library-missing"),
    ("INFO: libcudnn is missing, the CPU is used", "gpu-libs-not-found"),
    ("libcudnn is missing if the extra was not asked for", "gpu-libs-not-found"),
    ("libcurl.so.4 is optional and not in the image", "system-library-missing"),
    ("cannot find ROCm device library; provide its path via --rocm-path", "gpu-libs-not-found"),
    ("hipcc cannot compile a program: 'cmath' file not found", "rocm-path-broken"),
    ("Triton is not supported on current platform, roll back to CPU.", "library-missing-gpu-arch"),
    ("torch was built with NumPy 2.1", "numpy-abi-mismatch"),
    ("libraries of the host are loaded in the container", "python-user-site-leak"),
    ("torch has a different version for another user", "python-user-site-leak"),
    ("the kernel module does not compile with gcc 14", "host-compiler-unsupported"),
    ("flash-attn compiles with gcc 12", "host-compiler-unsupported"),
    ("CUDA 12 supports up to GCC 14", "host-compiler-unsupported"),
    ("gcc 12 is used as the CUDA host compiler", "host-compiler-unsupported"),
    ("nvcc reports 12.4 while torch uses 12.1; the extension build fails", "toolkit-torch-mismatch"),
    ("nvcc reports 11.4 while torch uses 12.1", "toolkit-torch-mismatch"),
    ("flashinfer 0.2.5 is what vLLM 0.9 was tested with", "companion-kernel-lib-outdated"),
    (r"'C:\tools\uv.exe' is not recognized as an internal or external command", "install-path-has-space"),
    (r"ERROR: Invalid requirement: 'torch=2.4'", "install-path-has-space"),
    ("TF32 tests fail since the vLLM update", "known-bad-library-version"),
]

test_a_text_names_what_it_tells = names(CASES)
test_a_near_text_does_not = names_not(NEAR)
