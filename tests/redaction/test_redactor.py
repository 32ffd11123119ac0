"""Secrets are masked, names and ids get stand-ins that keep their shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.redaction import Redactor
from doctor.redaction.secrets import is_secret_name, masked
from doctor.report.key import own_names, teach
from doctor.system.tree import TreeSystem


@pytest.mark.parametrize(
    "secret",
    [
        "Vq8TzWm3XcR5pKj9LsYb2Nf6HdGw4Q",
        "w3x9-Kq7Zt_5vJm2Rb8Ls4Yc6Nf1Hd0Gp",
        "AKIA" + "D" * 16,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_token_is_masked_wherever_it_stands(secret: str) -> None:
    assert secret not in masked(f"before {secret} after")
    assert "after" in masked(f"before {secret} after")


def test_credentials_in_a_url_are_masked() -> None:
    assert masked("https://me:pw@host/x") == "https://[secret]@host/x"


@pytest.mark.parametrize(
    ("name", "secret"),
    [("HF_TOKEN", True), ("AWS_SECRET_ACCESS_KEY", True), ("DB_PASSWORD", True), ("PWD", False), ("PATH", False),
     ("TOKENIZERS_PARALLELISM", False), ("HIP_VISIBLE_DEVICES", False)],
)  # fmt: skip
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_a_uuid_keeps_its_shape_and_its_stand_in() -> None:
    redactor = Redactor()
    text = "GPU-12345678-1234-1234-1234-123456789abc"
    assert redactor.text(text) == redactor.text(text) != text
    assert len(redactor.text(text)) == len(text)
    assert redactor.text(text).startswith("GPU-")


def test_user_names_go_wherever_they_stand() -> None:
    redactor = Redactor()
    data = {"account": {"user": "alice77"}, "text": "node of alice77", "path": "/home/alice77/x"}
    redactor.learn(data)
    assert "alice77" not in str(redactor.data(data))


def test_the_environment_is_masked_by_name() -> None:
    assert Redactor().data({"environment": {"HF_TOKEN": "x", "PATH": "/bin"}}) == {
        "environment": {"HF_TOKEN": "[secret]", "PATH": "/bin"}
    }


def test_data_is_masked_by_the_names_above_and_beside_it() -> None:
    redactor = Redactor(remember=True)
    data = {
        "db": {"password": "x y z 1"},
        "Cmd": ["serve", "--token", "ab c", "--port", "8080"],
        "env": [{"name": "API_KEY", "value": "zz top 9"}, {"name": "HSA_XNACK", "value": "1"}],
        "Env": ["PW=ab;c d", "HIP_VISIBLE_DEVICES=0,1"],
        "secrets": ["one1two2", "three3"],
        "auth": {"token": {"value": "vv11vv22"}},
        "log": "zz top 9 was refused on 0000:c1:00.0",
    }
    assert redactor.again(redactor.data(data)) == {
        "db": {"password": "[secret]"},
        "Cmd": ["serve", "--token", "[secret]", "--port", "8080"],
        "env": [{"name": "API_KEY", "value": "[secret]"}, {"name": "HSA_XNACK", "value": "1"}],
        "Env": ["PW=[secret]", "HIP_VISIBLE_DEVICES=0,1"],
        "secrets": ["[secret]", "[secret]"],
        "auth": {"token": {"value": "[secret]"}},
        "log": "[secret] was refused on 0000:c1:00.0",
    }


@pytest.mark.parametrize("text", ["cuDNN 9.1.0.70 is here", "TensorRT 10.3.0.26", "nvjitlink 12.4.127.1"])
def test_four_parts_behind_the_name_of_a_library_are_its_version(text: str) -> None:
    assert Redactor().text(text) == text
    assert "10.1.0.7" not in Redactor().text("cuDNN was fetched from 10.1.0.7")


def test_four_parts_under_the_key_of_a_version_are_no_address() -> None:
    data = {"name": "nvidia-cublas-cu12", "version": "12.8.4.1", "bound": "10.1.2.3", "api_version": "at 10.1.2.3"}
    kept = Redactor().data(data)
    assert kept["version"] == "12.8.4.1"
    assert not [key for key in ("bound", "api_version") if "10.1.2.3" in kept[key]]


def test_what_is_redacted_stays_as_it_is() -> None:
    redactor = Redactor(users=["carla99"], hosts=["node17"])
    once = redactor.text(
        "carla99@node17 10.1.2.3 aa:bb:cc:dd:ee:ff /home/carla99 Serial Number: 1654922000123 me@corp.example"
    )
    assert Redactor().text(once) == once


@pytest.mark.parametrize("text", ["serial: 0000000000000", "0.0.0.0", "00:00:00:00:00:00"])
def test_numbers_that_are_none_stay(text: str) -> None:
    assert Redactor().text(text) == text


def test_the_key_decides_the_stand_ins() -> None:
    one, other = (Redactor(users=["carla99"], key=key) for key in (b"a" * 32, b"b" * 32))
    text = "carla99 on 10.1.2.3, GPU-12345678-1234-1234-1234-123456789abc"
    assert one.text(text) != other.text(text)
    assert one.text(text) == Redactor(users=["carla99"], key=b"a" * 32).text(text)


def test_ids_of_what_was_redacted_once_stay_and_secrets_do_not() -> None:
    again = Redactor(key=None, remember=True)
    text = "GPU-8f2a1b3c unique_id: 0x8f2a1b3c4d5e6f70 user-0a1b HF_TOKEN=hf_" + "aB3" * 12
    assert again.text(text) == "GPU-8f2a1b3c unique_id: 0x8f2a1b3c4d5e6f70 user-0a1b HF_TOKEN=[secret]"
    assert again.id_text("0x8f2a") == "0x8f2a"
    assert "uuid" not in again.counts


def test_lists_of_rules_and_facts_are_looked_through_as_well() -> None:
    redactor = Redactor()
    names = {"clear": ["torch-sees-no-gpu"], "facts": ["gpus", "kernel.release"]}
    assert redactor.data(names) == redactor.data(names) == names
    planted = {"facts": ["gpus", "API_TOKEN=9f8a7c6b5d4e3f2a1b0c"]}
    assert "9f8a7c6b5d4e3f2a1b0c" not in str([redactor.data(planted), redactor.data(planted)])
    redactor.know("user", "kernelsmith")
    assert "kernelsmith" not in str(redactor.data({"facts": ["kernelsmith", "gpus"]}))


def test_names_of_the_machine_itself_are_known_and_words_of_the_field_are_not(tmp_path: Path) -> None:
    (tmp_path / "etc/slurm").mkdir(parents=True)
    (tmp_path / "etc/passwd").write_text("ubuntu:x:1000:1000::/h:/s\nygrzyb:x:1001:1001:Ylva Grzyb,,,:/h:/s\n")
    (tmp_path / "etc/resolv.conf").write_text("search zwirnlab.example\n")
    (tmp_path / "etc/slurm/slurm.conf").write_text("NodeName=hexenturm[01-16] CPUs=4\n")
    redactor = Redactor()
    teach(redactor, own_names(TreeSystem(tmp_path)))
    text = redactor.text("asked ygrzyb why ubuntu on Hexenturm07 hangs, says Ylva Grzyb of ZWIRNLAB.EXAMPLE")
    assert re.sub(r"-[0-9a-f]{8}", "", text) == "asked user why ubuntu on host07 hangs, says user of site"


def test_a_line_of_signs_below_a_long_word_is_no_secret() -> None:
    text = "export COMPILED_KERNEL_CACHE_FOLDER_2=abcdef0123\n----------\n"
    assert masked(text) == text


def test_ssh_names_a_host_on_a_line_that_holds_nothing_else() -> None:
    assert Redactor().text("Host key verification failed for a key\n") == "Host key verification failed for a key\n"
    assert "krebsgang" not in Redactor().text("Host krebsgang\n  Port 22\n")
