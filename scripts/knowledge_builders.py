"""Builds the tables of the catalogue whose entries differ from the facts that they are carried from.

Each builder takes the loaded YAML files and returns entries by key. scripts/refresh_knowledge.py calls them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Row = dict[str, Any]
_OPEN_MODULE = {"supported": "either", "required": "required", "unsupported": "unsupported"}
_OPEN_BY_ARCH = {"Pascal": "unsupported", "Volta": "unsupported", "Maxwell": "unsupported", "Kepler": "unsupported",
                 "Turing": "either", "Ampere": "either", "Ada": "either", "Hopper": "either",
                 "Blackwell": "required", "Rubin": "required"}  # fmt: skip
_TEGRA_CHIPS = ("GA10B", "GB10B", "GV11B", "GP10B")
_EXTENDED = {
    "driver": {
        "nvidia-imex-not-running": "GPUs of a rack-scale NVLink fabric without a running IMEX service or its channels",
        "nvidia-xid-nonfatal": "an Xid or SXid that asks for a restarted program, a look or nothing",
        "os-without-cuda-or-rocm": "the operating system is macOS, for which there is neither CUDA nor ROCm",
    },
    "host and hardware": {
        "gpu-inforom-corrupted": "the board's configuration memory (infoROM) fails its checksum",
        "host-machine-check": "the host's CPU or memory reported uncorrected hardware errors",
        "host-memory-exhausted": "the kernel killed a process because the host or its control group ran out of memory",
    },
    "consequences": {
        "gpu-fabric-degraded": "a link between GPUs or an RDMA port beside a GPU is down while its peers are up",
    },
    "tools": {
        "gpu-tool-unsupported": "a compiler, profiler or CUDA's libraries have no support for this GPU",
        "env-value-misread": "a variable holds a value that its component reads as something else, ignores or dies on",
        "env-flags-conflict": "variables contradict each other, or the versions and GPUs at hand",
        "smi-tool-slow": "nvidia-smi, amd-smi or rocm-smi answered late or not at all",
        "smi-tool-contradicts-kernel": "a vendor tool and the kernel's files disagree",
    },
    "bench": {
        "attention-backward-slow": "attention backward takes far longer than forward",
        "bench-case-failed": "a measurement hung, died, ran out of memory or was refused",
        "gemm-library-unexpected": "a matrix product ran on another library than flags or prediction say",
        "tunableop-entry-slow": "a TunableOp result is slower than the default or wrong",
    },
    "profile": {
        "no-gpu-found": "no GPU on a machine that is asked to have one, or none at all",
        "gpu-not-in-knowledge": "a GPU that this version has no facts of; generic checks only",
        "profile-expectation-unmet": "an expectation of the profile that no rule owns is not met",
    },
}


def natural(key: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in key.replace(":", ".").split("."))


def entry(row: Row, **fields: Any) -> Row:
    """An entry with its source and date, less what is not known."""
    source = row["source"]
    kept = {key: value for key, value in fields.items() if value is not None and value not in ([], {})}
    said = "; ".join(source) if isinstance(source, list) else source
    return kept | {"source": said, "as_of": str(row["as_of"])}


def amd_gpus(facts: Row) -> dict[str, Row]:
    rows = {}
    for gpu in facts["gpus"]:
        pci = [
            entry(
                {"source": p["source"], "as_of": gpu["as_of"]},
                id=p["id"].lower(),
                revisions=[str(r).lower().zfill(2) for r in p.get("revisions", [])],
                virtual_function=p.get("virtual_function"),
            )
            for p in gpu.get("pci", [])
        ]
        kept = {k: v for k, v in gpu.items() if k not in ("source", "as_of", "pci", "gfx_target_version")}
        rows[gpu["id"]] = entry(gpu, **(kept | {"pci": pci}))
    return rows


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def gfx_targets(facts: Row) -> dict[str, Row]:
    return {
        str(t["gfx_target_version"]): entry(
            t, number=t["gfx_target_version"], gfx=t["gfx"], hsa_override_form=t.get("hsa_override_form")
        )
        for t in facts["gfx_target_versions"]
    }


_ROCM_SAME = ("os_exceptions", "os_changes", "components", "frameworks", "firmware", "pytorch_built", "gpu_added",
              "python", "install_root", "extras_root", "release_date_source", "note")  # fmt: skip


def _system(row: Row) -> Row:
    kernels = [k for k in row.get("kernels", []) if k]
    return {"os": row["os"], "version": str(row["version"])} | ({"kernels": kernels} if kernels else {})


def rocm_releases(facts: Row) -> dict[str, Row]:
    return {
        r["version"]: entry(
            r,
            version=r["version"],
            stream=r["stream"],
            date=_text(r.get("release_date")),
            gfx_targets=sorted(r["gfx_targets"]) if "gfx_targets" in r else None,
            build_targets=sorted(r["build_targets"]) if r.get("build_targets") else None,
            kmd_versions=[str(k) for k in r.get("kmd_versions", [])],
            supported_os=[_system(o) for o in r.get("supported_os", [])],
            **{k: r.get(k) for k in _ROCM_SAME},
        )
        for r in facts["releases"]
    }


def nvidia_gpus(ids: Row, gpus: Row) -> dict[str, Row]:
    described = {pci: gpu for gpu in gpus["gpus"] for pci in gpu.get("pci_ids", [])}
    rows = {}
    for row in ids["ids"]:
        more = described.get(row["id"], {})
        rows[row["id"].lower()] = entry(
            row,
            id=row["id"].lower(),
            name=row.get("name") or more.get("name"),
            chip=row["chip"],
            architecture=row["arch"],
            compute_capability=str(row["cc"]),
            gpu_class=more.get("class"),
            memory_gb=more.get("memory_gb"),
            open_module=_open_module(row, more),
            listed_from=row.get("open_listed_from"),
        )
    return rows


def _open_module(row: Row, more: Row) -> str | None:
    """What is said of the product wins; else the architecture's rule, which does not speak of integrated GPUs."""
    if more.get("open_kernel_module"):
        return _OPEN_MODULE[more["open_kernel_module"]]
    if row["chip"] in _TEGRA_CHIPS:
        return None
    return _OPEN_BY_ARCH.get(row["arch"])


def compute_capabilities(facts: Row) -> dict[str, Row]:
    return {
        c["cc"]: entry(
            c,
            cc=c["cc"],
            architecture=c["architecture"],
            open_module=_OPEN_MODULE.get(c.get("open_kernel_module", "")),
            last_driver_branch=c.get("last_driver_branch"),
            first_cuda=c.get("first_cuda"),
            last_cuda=c.get("last_cuda"),
            chips=c.get("chips"),
            note=c.get("note"),
        )
        for c in facts["compute_capabilities"]
    }


def cuda_majors(facts: Row) -> dict[str, Row]:
    return {
        str(m["major"]): entry(
            m,
            major=m["major"],
            driver=m["min_driver_minor_compat"],
            documented_range=m.get("documented_range"),
            note=m.get("note"),
        )
        for m in facts["majors"]
    }


def cuda_toolkits(facts: Row) -> dict[str, Row]:
    same = ("runfile_driver", "released", "runtime_wheel_built", "components")
    return {
        r["version"]: entry(
            r, version=r["version"], driver=r.get("bundled_driver_linux"), **{k: r.get(k) for k in same}
        )
        for r in facts["releases"]
    }


def driver_branches(facts: Row) -> dict[str, Row]:
    same = ("architectures_dropped", "first_datacenter_release", "first_open_tag", "fabric_manager_rule", "note",
            "open_module_default", "eol_nvidia")  # fmt: skip
    rows = {}
    for b in facts["branches"]:
        versions = b.get("versions") or b.get("versions_seen") or []
        rows[b["branch"]] = entry(
            b,
            branch=b["branch"],
            kind=b.get("type"),
            cuda=_text(b.get("cuda_version_reported")),
            latest=b.get("latest_seen") or max(versions, default=None, key=natural),
            latest_date=b.get("latest_seen_date"),
            open_module=b["open_module_available"],
            eol=_text(b.get("eol_nvidia") or b.get("eol_endoflife")),
            eol_computed=_text(b.get("eol_endoflife")),
            versions=versions,
            **{k: b.get(k) for k in same},
        )
    return rows


def xids(facts: Row) -> dict[str, Row]:
    return {
        str(x["xid"]): entry(
            x,
            code=x["xid"],
            mnemonic=x["mnemonic"],
            meaning=x["meaning"],
            kind=x["class"],
            action=x.get("immediate_action"),
            advice=facts["actions"].get(x.get("immediate_action")),
            severity=x.get("severity"),
            **{k: x.get(k) for k in ("gpud_severity", "gpud_actions", "investigate", "likely", "note")},
        )
        for x in facts["xids"]
    }


def sxids(facts: Row) -> dict[str, Row]:
    return {
        str(s["sxid"]): entry(
            s,
            code=s["sxid"],
            name=s["name"],
            fatal="always" if s["always_fatal"] else "potentially" if s["potentially_fatal"] else "no",
        )
        for s in facts["sxids"]
    }


def torch_builds(cuda: Row, rocm: Row) -> dict[str, Row]:
    by_minor = {r["version"]: r for r in rocm["torch_releases"]}
    rows = {}
    for r in cuda["releases"]:
        amd = by_minor.get(r["minor"], {})
        rocm_variants = [str(v) for v in r.get("rocm_variants") or []]
        source = [*r["source"], *([amd["source"]] if amd.get("rocm_arch") else [])]
        rows[r["version"]] = entry(
            r | {"source": source},
            version=r["version"],
            default_cuda=_text(r.get("pypi_cuda")),
            min_driver=r.get("min_driver"),
            cuda_variants=[*(r.get("cuda_variants") or []), *(r.get("extra_cuda_variants") or [])],
            rocm_variants=rocm_variants,
            archs=_cuda_archs(r) | _rocm_archs(r["minor"], rocm_variants, amd.get("rocm_arch")),
            pins=r.get("pins"),
            default_cuda_aarch64=_text(r.get("pypi_cuda_aarch64")),
            requires_python=r.get("requires_python"),
            pythons=r.get("wheel_pythons_linux_x86_64"),
            platforms=r.get("platforms"),
            variant_pythons=r.get("variant_pythons"),
            triton=r.get("triton"),
        )
    for more in _toml("torch_archs.toml")["build"]:
        for version in more["releases"]:
            held = rows[version]["archs"].setdefault(more["tag"], {})
            held.setdefault(more["machine"], more["archs"])
            rows[version]["source"] += f"; {more['source']}"
    return rows


def _cuda_archs(release: Row) -> dict[str, dict[str, list[str]]]:
    """Build → machine → sm list: from the wheel itself, else from the tables of the build scripts."""
    archs: dict[str, dict[str, list[str]]] = {}
    for tag, listed in (release.get("variant_arch_list") or {}).items():
        archs[tag] = {"x86_64": ["sm_" + a.replace(".", "") for a in listed.split(";")]}
    for cuda, machines in (release.get("release_cc_table") or {}).items():
        archs["cu" + cuda.replace(".", "")] = {m: [f"sm_{a}" for a in listed] for m, listed in machines.items()}
    plain = archs.setdefault("cu" + str(release["pypi_cuda"]).replace(".", ""), {})
    plain["x86_64"] = [f"sm_{a}" for a in release["sm_x86_64"]]
    if release.get("sm_aarch64"):
        plain["aarch64"] = [f"sm_{a}" for a in release["sm_aarch64"]]
    return archs


def _rocm_archs(minor: str, variants: list[str], archs: list[str] | None) -> dict[str, dict[str, list[str]]]:
    """The lists of one torch release differ by ROCm where the sources say so: gfx942 from ROCm 6.0 on, and the 7.14
    wheels without gfx900 and gfx906, which the 7.2 wheels of 2.14 add."""
    built: dict[str, dict[str, list[str]]] = {}
    for rocm in variants if archs else []:
        listed = sorted(a for a in archs or [] if a != "gfx942" or not rocm.startswith("5."))
        if minor == "2.14" and rocm == "7.2":
            listed = sorted([*listed, "gfx900", "gfx906"])
        built[f"rocm{rocm}"] = {"x86_64": listed}
    return built


def vocabulary(labels: Row) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    origin = {"source": "the project's vocabulary of causes", "as_of": "2026-11-20"}
    for family, names in (*_EXTENDED.items(), *labels.items()):
        if isinstance(names, dict):
            for name, means in names.items():
                rows[name] = entry(origin, id=name, family=family, means=means)
    return rows


def companions(facts: Row) -> dict[str, Row]:
    """torchaudio counts only where it pins its torch: what pins nothing is made for no torch in particular."""
    return {
        r["version"]: entry(
            {"source": [r["source"][0]], "as_of": r["as_of"]},
            torch=r["version"],
            torchvision=r.get("torchvision"),
            torchvision_from=(r.get("torchvision_range") or "").removeprefix(">=") or None,
            torchaudio=r.get("torchaudio") if r.get("torchaudio_pinned", True) else None,
        )
        for r in facts["releases"]
    }


def package_ways() -> dict[str, Row]:
    """scripts/package_ways.toml: one entry a way, by id."""
    rows = _toml("package_ways.toml")["way"]
    return {row["id"]: entry(row, **{k: v for k, v in row.items() if k not in ("source", "as_of")}) for row in rows}


def tool_support() -> dict[str, Row]:
    """scripts/tool_support.toml: one entry a range of releases, by id."""
    return {row["id"]: row for row in _toml("tool_support.toml")["tool"]}


def early_cuda() -> dict[str, Row]:
    """scripts/early_cuda.toml: the driver floor of each CUDA before 11, by minor."""
    facts = _toml("early_cuda.toml")
    return {minor: entry(facts, minor=minor, driver=driver) for minor, driver in facts["driver"].items()}


def _toml(name: str) -> Row:
    """A hand-written file beside this one."""
    with Path(__file__).with_name(name).open("rb") as file:
        return tomllib.load(file)
