"""Secrets are masked, names and ids get stand-ins that keep their shape."""

from __future__ import annotations

import pytest

from doctor.redaction import Redactor
from doctor.redaction.secrets import is_secret_name, masked


@pytest.mark.parametrize(
    "secret",
    [
        "hf_" + "a" * 30,
        "ghp_" + "B" * 36,
        "sk-" + "c" * 40,
        "AKIA" + "D" * 16,
        "eyJhbGciOiJI.eyJzdWIiOiIx.abc",
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
