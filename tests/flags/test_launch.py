"""What the commands of a file or a process show of the job."""

from __future__ import annotations

import pytest

from doctor.facts.snapshot import Snapshot
from doctor.flags import files, interactions
from doctor.flags.launch import contexts
from tests.each import each

SHOWN = {
    "torchrun --nproc_per_node 8 --nnodes=2 train.py": {"torchrun", "training", "ranks", "multi_node"},
    "python -m torch.distributed.run --nproc-per-node=1 t.py": {"torchrun", "training"},
    "#SBATCH --nodes=4\nsrun -n 32 python x.py": {"ranks", "multi_node"},
    "deepspeed --num_gpus 8 train.py --deepspeed ds.json": {"training", "deepspeed_launcher", "ranks"},
    "accelerate launch --use_fsdp --num_processes 8 t.py": {"training", "fsdp", "ranks"},
    'CMD ["vllm", "serve", "m", "-tp", "8", "--kv-transfer-config", "{}"]': {"serving", "ranks", "vllm_kv_connector"},
    "command: [python3, -m, vllm.entrypoints.openai.api_server]\nargs:\n  - --tensor-parallel-size\n  - '4'\n": {
        "serving",
        "ranks",
    },
    "python pretrain_gpt.py --tensor-model-parallel-size 2 \\\n --num-experts 8 --fp8-format hybrid": {
        "training",
        "megatron_tp",
        "moe",
        "fp8_moe",
    },
    "python pretrain_gpt.py --tensor-model-parallel-size 2 --use-megatron-fsdp": {"training", "fsdp"},
    "python -m sglang.launch_server --tp 8 --context-length 32768": {"serving", "ranks", "long_context"},
    "python pretrain_gpt.py --attention-backend flash": {"training", "attention_flash"},
    "python -m sglang.launch_server --tp 2 --enable-deterministic-inference": {
        "serving",
        "ranks",
        "sglang_deterministic",
    },
    "numactl --cpunodebind=0 python t.py": {"numa_bound"},
    "apptainer exec i.sif python t.py": {"apptainer"},
}


@each("text", SHOWN)
def test_the_command_shows_the_job(text: str) -> None:
    assert set(contexts(text)) == SHOWN[text]
    assert all(contexts(text).values())


@pytest.mark.parametrize(
    "text",
    [
        "# torchrun --nproc_per_node=8 train.py",
        "RUN echo deepspeed",
        "python train.py",
        "python x.py --attention-backend flashinfer",
        "ssh -n 8 host",
        "echo the --tp of a 5-ton truck",
    ],
)
def test_what_only_speaks_of_it_shows_nothing(text: str) -> None:
    assert not contexts(text)


def test_a_number_from_a_variable_tells_nothing() -> None:
    assert set(contexts("torchrun --nproc_per_node=$N t.py")) == {"torchrun", "training"}
    assert set(contexts("vllm serve m --tensor-parallel-size ${TP:-8}")) == {"serving"}


def test_the_words_are_those_that_conditions_ask_for() -> None:
    seen = set().union(*SHOWN.values(), contexts("pip install x"), contexts("ray start --head"))
    assert seen <= interactions.contexts()


def test_the_command_of_a_script_is_what_its_variables_are_judged_for() -> None:
    script = (
        "export PYTORCH_TUNABLEOP_ENABLED=1\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\naccelerate launch --use_fsdp t.py\n"
    )
    found = files.look("run.sh", script, None, Snapshot(), {})
    (fsdp,) = [f for f in found.findings if f.subject.id == "CUDA_DEVICE_MAX_CONNECTIONS"]
    assert (fsdp.severity.value, fsdp.evidence[0].source) == ("error", "run.sh:2:8")
    stated = files.look("run.sh", script, None, Snapshot(), {"fsdp": False})
    assert not [f for f in stated.findings if f.subject.id == "CUDA_DEVICE_MAX_CONNECTIONS"]


@pytest.mark.parametrize(
    ("chosen", "env", "stops"),
    [
        ("flash", "NVTE_FLASH_ATTN=1", False),
        ("flash", "NVTE_FLASH_ATTN=0", True),
        ("fused", "NVTE_UNFUSED_ATTN=1", True),
        ("unfused", "NVTE_UNFUSED_ATTN=1 NVTE_FLASH_ATTN=0", False),
        ("auto", "NVTE_FUSED_ATTN=0", True),
        ("auto", "NVTE_FUSED_ATTN=1", False),
        ("local", "NVTE_FUSED_ATTN=0", False),
    ],
)
def test_megatrons_choice_of_attention_and_the_switches(chosen: str, env: str, stops: bool) -> None:
    script = f"export {env}\npython pretrain_gpt.py --attention-backend {chosen} --bf16\n"
    found = files.look("run.sh", script, None, Snapshot(), {}).findings
    assert any("it contradicts --attention-backend" in f.summary for f in found) is stops
