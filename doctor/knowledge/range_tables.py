"""The tables that ranges rest on: which driver, ROCm, CUDA, system or package goes with which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from doctor.knowledge.later import Later
from doctor.knowledge.store import kept, table
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import amd, entries, frameworks, nvidia, tables
    from doctor.knowledge.entries import Entry, RocmRelease

    E = TypeVar("E", bound=Entry)
else:
    amd = Later("doctor.knowledge.amd")
    entries = Later("doctor.knowledge.entries")
    frameworks = Later("doctor.knowledge.frameworks")
    nvidia = Later("doctor.knowledge.nvidia")
    tables = Later("doctor.knowledge.tables")


class RangeTables:
    """Questions of Knowledge that hand out one entry or all entries of a table of ranges."""

    if TYPE_CHECKING:

        def rocm_releases(self) -> tuple[RocmRelease, ...]: ...

    def _rests(self, name: str, *dates: str) -> None:
        """Notes that an answer rested on entries of these dates: the oldest of each table is kept."""
        held: dict[str, str] = self.__dict__.setdefault("_rested", {})
        for date in dates:
            held[name] = min(held.get(name, date), date)

    def rested(self) -> dict[str, str]:
        """Table → the oldest `as_of` that answers rested on since this was last asked."""
        return dict(self.__dict__.pop("_rested", {}))

    def _row(self, name: str, key: str) -> dict[str, Any] | None:
        """An entry as plain data, noted as rested on; None where the table has no such key."""
        row: dict[str, Any] | None = table(name).get(key)
        if row:
            self._rests(name, row["as_of"])
        return row

    def _entry(self, model: type[E], name: str, key: str) -> E | None:
        row = self._row(name, key)
        return model.model_validate(row) if row else None

    def code_to_device(self, sm: int) -> frameworks.CodeToDevice | None:
        """Which devices run code compiled for `sm`."""
        return self._entry(frameworks.CodeToDevice, "code_to_device", str(sm))

    def cuda_minor(self, cuda: str | None) -> nvidia.CudaMinor | None:
        """GPUs and compilers of `12.8` (or of 12.8.1)."""
        return self._entry(nvidia.CudaMinor, "cuda_minors", Dotted(cuda or "").series())

    def cuda_range(self, sm: int) -> tuple[str, str] | None:
        """First and last CUDA minor whose compiler knows a compute capability (`70`: 11.7 to 12.9); minors whose list
        is not known are left out."""
        rows = [row for row in _all("cuda_minors") if sm in row.sm]
        rows.sort(key=lambda row: Dotted(row.minor).numbers)
        return (rows[0].minor, rows[-1].minor) if rows else None

    def compat_package(self, series: str) -> nvidia.CompatPackage | None:
        return self._entry(nvidia.CompatPackage, "forward_compat_packages", f"cuda-compat-{series.replace('.', '-')}")

    def kmd_window(self, driver: str | None) -> amd.KmdWindow | None:
        """ROCm releases of an amdgpu driver: of its very release, else of its series or the newest of its series."""
        version = Dotted(driver or "")
        keys = [version.series(3), f"{version.series()}.0", f"{version.series()}.x"]
        same = [k for k in table("kmd_user_windows") if Dotted(k).series() == version.series()]
        keys += sorted(same, key=lambda k: Dotted(k).numbers, reverse=True)
        found = next((k for k in keys if k in table("kmd_user_windows")), "")
        return self._entry(amd.KmdWindow, "kmd_user_windows", found)

    def user_window(self, rocm: str | None) -> amd.UserWindow | None:
        """amdgpu drivers of a ROCm release: of the very one, else of its series, else of the patch nearest to it. AMD
        supports drivers by series: the patches of one differ in the newest driver only."""
        version = Dotted(rocm or "")
        keys = [version.series(3), f"{version.series()}.0", f"{version.series()}.x"]
        same = [k for k in table("user_kmd_windows") if Dotted(k).series() == version.series()]
        if len(version.numbers) < 3:
            keys += sorted(same, key=lambda k: Dotted(k).numbers, reverse=True)
        else:
            keys += sorted(same, key=lambda k: abs((*Dotted(k).numbers, 0, 0)[2] - version.numbers[2]))
        found = next((k for k in keys if k in table("user_kmd_windows")), "")
        return self._entry(amd.UserWindow, "user_kmd_windows", found)

    def newest_rocm(self, series: str | None) -> RocmRelease | None:
        """The newest release of a series (`6.4`) whose support matrix is known."""
        wanted = Dotted(series or "").series()
        same = [
            v for v, row in table("rocm_releases").items() if Dotted(v).series() == wanted and row.get("supported_os")
        ]
        newest = max(same, key=lambda v: Dotted(v).numbers, default="")
        return self._entry(entries.RocmRelease, "rocm_releases", newest) if newest else None

    def os_kernels(self) -> tuple[amd.OsKernels, ...]:
        return _all("rocm_os_kernels")

    def package_releases(self, package: str) -> tuple[frameworks.PackageRelease, ...]:
        """The known releases of a package beside torch, the newest first; () for one that is not known."""
        return _releases().get(package, ())

    def driver_branches(self) -> tuple[entries.DriverBranch, ...]:
        """All branches, the oldest first."""
        return tuple(sorted(_all("driver_branches"), key=lambda b: int(b.branch)))

    def package_ways(self, package: str) -> tuple[frameworks.PackageWay, ...]:
        """The ways to install a package, in the order of the table."""
        return tuple(way for way in _all("package_ways") if way.package == package)

    def c_libraries(self, os: str) -> tuple[frameworks.CLibrary, ...]:
        """Every known release of a system, by os-release's ID."""
        return tuple(d for d in _all("c_libraries") if d.os == os)

    def device_wheels(self) -> tuple[frameworks.DeviceWheels, ...]:
        return _all("device_wheels")

    def wheel_contents(self, package: str, machine: str) -> tuple[frameworks.WheelContent, ...]:
        """What the wheels of a package hold, as far as their libraries were read."""
        return tuple(c for c in _all("wheel_contents") if (c.package, c.machine) == (package, machine))

    def resolution(self, question: str) -> frameworks.RecordedResolution | None:
        """A resolver's recorded answer about a stack (doctor.resolve.resolver.Question.key)."""
        return self._entry(frameworks.RecordedResolution, "resolutions", question)

    def tool_support(self, tool: str, version: str | None) -> frameworks.ToolSupport | None:
        """What is known of that release of a tool; `last` is compared by as many numbers as it has."""
        held = Dotted(version or "")
        for row in _all("tool_support"):
            last = Dotted(row.last or "").numbers
            inside = held.numbers and Dotted(row.first) <= held and held.numbers[: len(last)] <= last
            if tool in row.tools and (inside if row.last else held.numbers and Dotted(row.first) <= held):
                self._rests("tool_support", row.as_of)
                return row  # type: ignore[no-any-return]
        return None

    def flash_attn_builds(self) -> tuple[frameworks.FlashAttnBuild, ...]:
        """For what each release of flash-attn has binaries, the oldest first."""
        return _all("flash_attn_prebuilt")

    def amdgpu_drivers(self) -> tuple[amd.AmdgpuDriver, ...]:
        return _all("amdgpu_drivers")

    def knows_arch(self, arch: str) -> bool:
        """Whether any table mentions a GPU architecture: `gfx942`, `sm_90`."""
        bare = arch.split(":")[0].lower()
        if bare.startswith("gfx"):
            return any(row["gfx"] == bare for row in table("gfx_targets").values()) or any(
                row["gfx"] == bare for row in table("amd_gpus").values()
            )
        digits = bare.removeprefix("sm_").rstrip("af")
        return f"{digits[:-1]}.{digits[-1:]}" in table("compute_capabilities")

    def packages(self) -> frozenset[str]:
        """Names of the packages that releases or ways are known of."""
        return frozenset(_releases()) | {way.package for way in _all("package_ways")}


@kept
def _all(name: str) -> tuple[Any, ...]:
    """Every entry of a table, validated once."""
    kind = tables.named(name)
    return tuple(kind.entry_type().model_validate(row) for row in table(name).values()) if kind else ()


@kept
def _releases() -> dict[str, tuple[frameworks.PackageRelease, ...]]:
    """Package → its releases, the newest first."""
    from packaging.version import Version

    found: dict[str, list[frameworks.PackageRelease]] = {}
    for release in _all("packages"):
        found.setdefault(release.package, []).append(release)
    return {name: tuple(sorted(held, key=lambda r: Version(r.version), reverse=True)) for name, held in found.items()}
