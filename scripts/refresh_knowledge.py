"""Carries what the doctor needs of a folder of sourced facts into doctor/knowledge/data/.

    python scripts/refresh_knowledge.py FACTS_DIR [LABELS_YAML]

FACTS_DIR holds amd/, nvidia/ and frameworks/ with YAML files; LABELS_YAML is the vocabulary of causes, by default
../field/labels.yaml beside it. The output is the same for the same input: sorted keys, one entry a line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).resolve().parents[1] / "doctor" / "knowledge" / "data"
Row = dict[str, Any]
_OPEN_MODULE = {"supported": "either", "required": "required", "unsupported": "unsupported"}
_OPEN_BY_ARCH = {"Pascal": "unsupported", "Volta": "unsupported", "Maxwell": "unsupported", "Kepler": "unsupported",
                 "Turing": "either", "Ampere": "either", "Ada": "either", "Hopper": "either",
                 "Blackwell": "required", "Rubin": "required"}  # fmt: skip
_TEGRA_CHIPS = ("GA10B", "GB10B", "GV11B", "GP10B")
_EXTENDED = {
    "tools": {
        "smi-tool-slow": "nvidia-smi, amd-smi or rocm-smi answered late or not at all",
        "smi-tool-contradicts-kernel": "a vendor tool and the kernel's files disagree",
    },
    "profile": {
        "no-gpu-found": "no GPU on a machine that is asked to have one, or none at all",
        "gpu-not-in-knowledge": "a GPU that this version has no facts of; generic checks only",
        "profile-expectation-unmet": "an expectation of the profile that no rule owns is not met",
    },
}


def main(arguments: list[str]) -> int:
    facts = Path(arguments[0])
    labels = Path(arguments[1]) if len(arguments) > 1 else facts.parent / "field" / "labels.yaml"
    tables = {
        "amd_gpus": amd_gpus(load(facts / "amd/gpus.yaml")),
        "gfx_targets": gfx_targets(load(facts / "amd/gpus.yaml")),
        "rocm_releases": rocm_releases(load(facts / "amd/rocm-releases.yaml")),
        "nvidia_gpus": nvidia_gpus(load(facts / "nvidia/pci-ids.yaml"), load(facts / "nvidia/gpus.yaml")),
        "compute_capabilities": compute_capabilities(load(facts / "nvidia/gpus.yaml")),
        "cuda_majors": cuda_majors(load(facts / "nvidia/cuda-releases.yaml")),
        "cuda_toolkits": cuda_toolkits(load(facts / "nvidia/cuda-releases.yaml")),
        "driver_branches": driver_branches(load(facts / "nvidia/driver-branches.yaml")),
        "xids": xids(load(facts / "nvidia/xid.yaml")),
        "sxids": sxids(load(facts / "nvidia/xid.yaml")),
        "torch_builds": torch_builds(load(facts / "frameworks/pytorch.yaml"), load(facts / "amd/rocm-pytorch.yaml")),
        "vocabulary": vocabulary(load(labels)),
    }
    for name, entries in tables.items():
        write(name, entries)
    return 0


def load(path: Path) -> Row:
    data: Row = yaml.safe_load(path.read_text("utf-8"))
    return data


def write(name: str, entries: dict[str, Row]) -> None:
    rows = [
        f"{json.dumps(key)}:{json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"
        for key, value in sorted(entries.items(), key=lambda item: _natural(item[0]))
    ]
    body = ",\n".join(rows)
    (DATA / f"{name}.json").write_text(f'{{"schema":"doctor.{name}/1","entries":{{\n{body}\n}}}}\n', "utf-8")


def _natural(key: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in key.replace(":", ".").split("."))


def entry(row: Row, **fields: Any) -> Row:
    """An entry with its source and date, less what is not known."""
    source = row["source"]
    kept = {key: value for key, value in fields.items() if value is not None and value not in ([], {})}
    said = "; ".join(source) if isinstance(source, list) else source
    said = said.replace("rocm-releases.yaml of this set (sources there)", "the release matrices of rocm_releases.json")
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
        same = ("memory_gib", "compute_units", "bandwidth_gbs", "gcds", "wavefront")
        rows[gpu["id"]] = entry(
            gpu,
            **{k: gpu[k] for k in same if isinstance(gpu.get(k), (int, float))},
            id=gpu["id"],
            names=gpu["names"],
            gfx=gpu["gfx"],
            architecture=gpu["architecture"],
            gpu_class=gpu["gpu_class"],
            pci=pci,
            rocm_first=_text(gpu.get("rocm_first")),
            rocm_last=_text(gpu.get("rocm_last")),
        )
    return rows


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def gfx_targets(facts: Row) -> dict[str, Row]:
    return {
        str(t["gfx_target_version"]): entry(t, number=t["gfx_target_version"], gfx=t["gfx"])
        for t in facts["gfx_target_versions"]
    }


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
        )
        for c in facts["compute_capabilities"]
    }


def cuda_majors(facts: Row) -> dict[str, Row]:
    return {str(m["major"]): entry(m, major=m["major"], driver=m["min_driver_minor_compat"]) for m in facts["majors"]}


def cuda_toolkits(facts: Row) -> dict[str, Row]:
    return {
        r["version"]: entry(r, version=r["version"], driver=r.get("bundled_driver_linux")) for r in facts["releases"]
    }


def driver_branches(facts: Row) -> dict[str, Row]:
    rows = {}
    for b in facts["branches"]:
        latest = b.get("latest_seen") or max(b.get("versions_seen", []), default=None, key=_natural)
        rows[b["branch"]] = entry(
            b,
            branch=b["branch"],
            kind=b.get("type"),
            cuda=_text(b.get("cuda_version_reported")),
            latest=latest,
            open_module=b["open_module_available"],
            eol=_text(b.get("eol_nvidia") or b.get("eol_endoflife")),
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
        )
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
    for family, names in {**_EXTENDED, **labels}.items():
        if isinstance(names, dict):
            for name, means in names.items():
                rows[name] = entry(origin, id=name, family=family, means=means)
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
