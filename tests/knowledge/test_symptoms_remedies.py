"""What people say helped: each remedy is read in several wordings, and not where it did not help."""

import pytest

from doctor.knowledge.symptoms import Signature, Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "gpu-option": "with singularity run --nv it works",
    "group-add": "fixed by adding --group-add render",
    "security-option": "works with --security-opt label=disable",
    "privileged": "works with docker run --privileged",
    "ldconfig": "after ldconfig in the container it works",
    "shared-memory": "solved with --shm-size=8g",
    "open-files": "ulimit -n 65536 fixes it",
    "locked-memory": "works after setting memlock to unlimited",
    "no-cgroups": "works with no-cgroups = true",
    "cdi-generate": "--cdi-spec-dir=/run/cdi works",
    "runtime-configure": "works after systemctl restart docker was run by nvidia-ctk runtime configure",
    "gfx-override": "HSA_OVERRIDE_GFX_VERSION=10.3.0 fixes it",
    "one-gpu-chosen": "HIP_VISIBLE_DEVICES=1 resolves it",
    "library-path": "works with LD_LIBRARY_PATH=/opt/rocm/lib",
    "library-path-unset": "fixed by unsetting LD_LIBRARY_PATH",
    "uvm-reloaded": "modprobe -r nvidia_uvm && modprobe nvidia_uvm helps",
    "interface-named": "works with NCCL_SOCKET_IFNAME=eth0",
    "other-gcc": "works with CUDAHOSTCXX=g++-13",
    "cuda-home": "works with CUDA_HOME=/usr/local/cuda-12.4",
    "older-numpy": "fixed by numpy<2",
    "other-ptxas": "works with TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
    "iommu-off": "amd_iommu=off fixes it",
    "no-user-site": "PYTHONNOUSERSITE=1 solves it",
    "secure-boot-off": "works with Secure Boot disabled",
    "wave-save-off": "stable with amdgpu.cwsr_enable=0",
    "other-firmware": "fixed by another linux-firmware package",
    "apu-memory-setting": "with ttm.pages_limit=12582912 the model loads",
    "rocr-choice": "with ROCR_VISIBLE_DEVICES=0 it starts",
    "tunableop-off": "PYTORCH_TUNABLEOP_ENABLED=0 avoids it",
    "hipblaslt-off": "DISABLE_ADDMM_HIP_LT=1 makes it work",
    "memory-left-free": "works with XLA_PYTHON_CLIENT_MEM_FRACTION=0.5",
}
NOT_HELPED = ("{} does not help", "{} has no effect", "{} did not fix it", "still fails with {}")


@pytest.mark.parametrize("key", EXAMPLES)
def test_a_remedy_that_helped_is_read(key: str) -> None:
    assert f"helped-by-{key}" in {hit.key for hit in SYMPTOMS.find([(1, EXAMPLES[key])])}


@pytest.mark.parametrize("wording", NOT_HELPED)
@pytest.mark.parametrize(
    "remedy", ["--gpus all", "--group-add render", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "amd_iommu=off"]
)
def test_a_remedy_that_did_not_help_is_none(wording: str, remedy: str) -> None:
    hits = SYMPTOMS.find([(1, wording.format(remedy))])
    assert not [hit for hit in hits if hit.key.startswith("helped-by-")]


def test_every_remedy_of_the_catalogue_has_its_example() -> None:
    assert {f"helped-by-{key}" for key in EXAMPLES} == {k for k in SYMPTOMS.signatures if k.startswith("helped-by-")}


def test_a_signature_is_of_a_text_or_of_a_remedy() -> None:
    told = {"id": "both", "says": ["--nv"], "matches": "--nv", "helped_by": "--nv", "source": "a test", "as_of": "2026"}
    with pytest.raises(ValueError, match="exclude each other"):
        Signature.model_validate(told)
