"""The user's Python environment, from files: never imported, never run."""

from typing import Literal

from doctor.facts.model import Model


class Package(Model):
    name: str
    """Normalised as PyPI does: lower case, `-`."""
    version: str
    location: str | None = None
    requires: tuple[str, ...] | None = None
    """Requirement lines of its metadata that name another package of the GPU stack; None where it was not read."""
    requires_python: str | None = None


class Build(Model):
    """Which build of something this is, whatever its version says. `key`: `package:NAME`, `library:SONAME` or
    `variable:NAME`."""

    key: str
    digest: str
    """Of a package's RECORD, of the file that the loader takes, or of a value."""
    path: str | None = None
    modules: tuple[str, ...] | None = None
    """What a package is imported as, where that is not its own name."""


class CodeGroup(Model):
    """Objects of one library that bring the same architectures."""

    archs: tuple[str, ...]
    number: int
    names: tuple[str, ...] = ()
    """Of the first ones: a member of an archive, or the place in the section."""


class GpuBinary(Model):
    """A library with GPU code, or an extension of torch. `key` is its path."""

    key: str
    package: str | None = None
    sass: tuple[str, ...] | None = None
    """NVIDIA architectures that some object is compiled for: `sm_90`, `sm_90a`."""
    ptx: tuple[str, ...] | None = None
    """`compute_90`"""
    gfx: tuple[str, ...] | None = None
    common: tuple[str, ...] | None = None
    """What every object was compiled for: on these the whole library runs."""
    objects: tuple[CodeGroup, ...] | None = None
    compressed: tuple[str, ...] | None = None
    torch_symbols: int | None = None
    """How many names it wants from torch's libraries."""
    missing_symbols: tuple[str, ...] | None = None
    """Those that the installed torch does not define; (): all are there."""
    cxx11_abi: bool | None = None
    """What the names that it wants from torch say; None where they do not tell."""


class LoadedLibrary(Model):
    """What the loader takes for one name that a library of torch (or a companion) asks for. `key` is the name."""

    key: str
    path: str | None = None
    """None: nowhere."""
    by: str | None = None
    """`RPATH of FILE`, `LD_LIBRARY_PATH`, `RUNPATH of FILE`, `ld.so.cache`, `default folder`."""
    wanted_by: str | None = None
    intended: str | None = None
    """The copy that came with the wheel (or its nvidia-* packages), where another one wins."""
    missing_versions: tuple[str, ...] | None = None
    """Versions of symbols (`GLIBCXX_3.4.30`) that `wanted_by` needs and the file at `path` does not define."""
    unfit: tuple[str, ...] = ()
    """Files of that name that the loader passes over, as they are for another CPU."""
    release: str | None = None
    """Of cuDNN's libraries, where the file says it."""
    missing_symbols: tuple[str, ...] | None = None
    """Names that `wanted_by` finds in `intended` and that the file at `path` does not define."""
    same_build: bool | None = None
    """Winner and intended copy have the same build id."""


class PluginLibrary(Model):
    """A library that a framework opens by name at run time needs this, and the loader finds it nowhere."""

    key: str
    """Package and name."""
    package: str
    name: str
    """`libcudnn.so.9`"""
    wanted_by: str
    in_package: str | None = None
    """The copy in a package nvidia-* of the environment, where the loader does not look by itself."""
    other_majors: tuple[str, ...] = ()
    """Names of the same library in another major, which are at hand."""


class InstalledFault(Model):
    """A package that is not installed as its RECORD and METADATA say. `key` is the package and the kind."""

    key: str
    package: str
    version: str | None = None
    kind: Literal[
        "missing", "cut", "other-python", "hidden", "no-binary", "mixed", "not-installed", "changed", "denied",
        "shared", "not-executable",
    ]  # fmt: skip
    """`cut`: not all of it is there; `other-python`: compiled for another Python or CPU; `changed`: a whole
    library that is not the one the package brought; `hidden`: Python takes what is named in `files` for the package or
    module;
    `mixed`: its version file is of another release; `not-installed`: `detail`, which it requires, is not there, and
    `files` import it at once."""
    number: int = 1
    files: tuple[str, ...] = ()
    """The first ones."""
    detail: str | None = None


class Interpreter(Model):
    """The Python that the user works with."""

    path: str | None = None
    version: str | None = None
    prefix: str | None = None
    chosen_by: str | None = None
    """`--python`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `PATH`."""
    site_packages: tuple[str, ...] | None = None
    externally_managed: bool | None = None
    """Whether the distribution keeps pip out of it (PEP 668)."""
    broken: str | None = None
    """Why the environment that VIRTUAL_ENV names does not work; "" where it does, or none is named."""


class Torch(Model):
    """torch as installed. `installed` False: known not to be there."""

    installed: bool | None = None
    version: str | None = None
    build: Literal["cuda", "rocm", "cpu", "xpu"] | None = None
    cuda: str | None = None
    hip: str | None = None
    rocm: str | None = None
    """The ROCm release that the build says (`6.2`), where it does."""
    arch_list: tuple[str, ...] | None = None
    available: bool | None = None
    """What torch.cuda.is_available() answered, where a text says so."""
    location: str | None = None
    cudnn: str | None = None
    git: str | None = None
    tunableop_validators: dict[str, str] | None = None
    """The stack that a file of TunableOp results was made with: `PT_VERSION` → `2.3.0` …"""
    sass: tuple[str, ...] | None = None
    """NVIDIA architectures in libtorch_cuda's fat binaries; `arch_list` has those that all objects share."""
    ptx: tuple[str, ...] | None = None
    cxx11_abi: bool | None = None
    """Whether libc10 was compiled with the new C++ ABI of GCC 5."""
    bundled: dict[str, str] | None = None
    """Library → version, of those that come with torch: in its own folder or as packages."""
