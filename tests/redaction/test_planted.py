"""Secrets of many kinds in many places, quoted and encoded in the usual ways: none is left. Look-alikes stay."""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from doctor.bundle.private import redacted
from doctor.redaction import Redactor
from tests.each import each
from tests.redaction.planted import ALL, HARMLESS, PEMS, PLACES, SAMPLE, SHAPED, WRITTEN, forms


@each("place", PLACES)
def test_no_planted_secret_is_left(place: str) -> None:
    left = []
    for name, value in ALL.items():
        clean = Redactor().text(PLACES[place](name.replace(" ", "_"), value))
        if "[secret]" not in clean or any(form in clean.encode() for form in forms(value)):
            left.append(name)
    assert not left


@each("kind", SHAPED)
def test_a_shape_alone_is_enough(kind: str) -> None:
    secret = SHAPED[kind]
    for text in (secret, f"x {secret} y", f'"{secret}"', f"a={secret};", quote(f"//{secret}", safe="")):
        assert secret not in Redactor().text(text)


@pytest.mark.parametrize("kind", PEMS)
def test_keys_of_many_lines(kind: str) -> None:
    key = PEMS[kind]
    lines = key.splitlines()[1:-1]
    for text in (key, json.dumps({"k": key}), json.dumps({"c": json.dumps({"k": key})}), quote(key), key.replace("\n", "\r\n"),
                 "key: |\n" + "".join(f"    {line}\n" for line in key.splitlines()) + "next: 1\n",
                 "\n".join(f"Nov 21 12:00:00 node app[1]: {line}" for line in key.splitlines()),
                 "\n".join(lines) + f"\n-----END {kind}-----", f"-----BEGIN {kind}-----\n" + "\n".join(lines),
                 base64.b64encode(key.encode()).decode(), base64.encodebytes(key.encode()).decode()):  # fmt: skip
        clean = Redactor().text(text)
        assert not [line for line in lines if line in clean or quote(line) in clean], text[:80]
        assert "[secret]" in clean


ELSEWHERE = {
    "url": "https://me:s3cr3tPw@host/x", "url token": "https://s3cr3tPw@host/x", "redis": "redis://:s3cr3tPw@h:6379/0",
    "bearer": "Authorization: Bearer s3cr3tPw12345678", "basic": "curl -H 'Authorization: Basic s3cr3tPw12345678'",
    "cookie": "Set-Cookie: sid=s3cr3tPw; Path=/", "netrc": "machine h login me password s3cr3tPw",
    "curl": "curl -u me:s3cr3tPw http://x", "sshpass": "sshpass -p s3cr3tPw ssh x",
    "connection": "Server=x;User Id=y;Password=s3cr3tPw;", "pip": "index-url = https://me:s3cr3tPw@pypi.example/simple",
    "proxy": "HTTPS_PROXY=http://me:s3cr3tPw@proxy:3128", "pem": "-----BEGIN PRIVATE KEY-----\ns3cr3tPw\n-----END PRIVATE KEY-----",
    "cut pem": "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3tPw", "docker": '{"auths": {"r": {"auth": "s3cr3tPw"}}}',
    "shadow": "me:$6$saltsalt$s3cr3tPws3cr3tPws3cr3tPw:19000:0", "header": "X-Api-Key: s3cr3tPw",
    "echo": "$ echo $DEPLOY_TOKEN\ns3cr3tPw\n$", "printenv": "# printenv DB_PASSWORD\ns3cr3tPw\n", "cat": "$ cat ~/.cache/x/token\ns3cr3tPw\n",
    "pgpass": "localhost:5432:jobs:me:s3cr3tPw", "sas": "https://x/blob?sv=1&sig=s3cr3tPw", "escaped url": '"http:\\/\\/me:s3cr3tPw@h\\/x"',
}  # fmt: skip


@each("text", WRITTEN)
def test_ways_of_writing(text: str) -> None:
    written = text.replace("{S}", SAMPLE)
    assert SAMPLE[:12] not in Redactor().text(written)
    assert "\0" in text or SAMPLE[:12] not in Redactor().text(json.dumps({"log": written}))


@each("place", ELSEWHERE)
def test_places_that_hold_secrets(place: str) -> None:
    assert "s3cr3tPw" not in Redactor().text(ELSEWHERE[place])


@each("text", HARMLESS)
def test_look_alikes_survive(text: str) -> None:
    assert Redactor().text(text) == text


def test_enough_are_planted() -> None:
    assert len(ALL) >= 150
    assert len(PLACES) >= 25
    assert len(HARMLESS) >= 100


def test_prefixes_of_gpu_ids_still_match() -> None:
    uuid = "GPU-8f2a1b3c-1234-5678-9abc-def012345678"
    redactor = Redactor()
    flags = redactor.data({"environment": {"CUDA_VISIBLE_DEVICES": "GPU-8f2a1,GPU-8f"}})["environment"]
    for prefix in flags["CUDA_VISIBLE_DEVICES"].split(","):
        assert redactor.text(uuid).startswith(prefix)
        assert not uuid.startswith(prefix)


def test_unique_ids_stay_one_gpu_in_decimal_and_hexadecimal() -> None:
    entries: dict[str, dict[str, Any]] = {
        "text:sys/class/kfd/kfd/topology/nodes/1/properties": {"state": "value", "value": f"unique_id {0xABCDEF0123456789}\n"},
        "text:sys/class/drm/card0/device/unique_id": {"state": "value", "value": "abcdef0123456789\n"},
        "environ": {"state": "value", "value": {"ROCR_VISIBLE_DEVICES": "GPU-abcdef0123456789"}},
    }  # fmt: skip
    kfd, drm, environ = (entry["value"] for entry in redacted(entries, Redactor())[0].values())
    stand_in = f"{int(kfd.split()[1]):016x}"
    assert stand_in == drm.strip() == environ["ROCR_VISIBLE_DEVICES"][4:] != "abcdef0123456789"


def test_names_addresses_and_serials_get_the_same_stand_in_everywhere() -> None:
    redactor = Redactor(users=["alice77"], hosts=["node17.example.org"])
    text = redactor.text("alice77@node17.example.org 10.1.2.3 aa:bb:cc:dd:ee:ff fe80::1 Serial Number : 1654922000123")
    for original in ("alice77", "node17", "10.1.2.3", "aa:bb", "fe80::1", "1654922000123"):
        assert original not in text
    assert redactor.text("ping 10.1.2.3") == redactor.text("ping 10.1.2.3")
    alice = redactor.text("alice77")
    assert redactor.text("/home/alice77/x on node17") == f"/home/{alice}/x on " + redactor.text("node17")
    assert (
        alice
        == Redactor(users=["alice77"]).text("alice77")
        != Redactor(users=["alice77"], key=b"other").text("alice77")
    )


def test_a_key_that_a_login_of_wandb_shows_goes_and_a_commit_stays() -> None:
    key = "0123456789abcdef0123456789abcdef01234567"
    assert key not in Redactor().text(f"wandb: Paste an API key from your profile and hit enter:\n{key}\n")
    assert key in Redactor().text(f"Installing wandb\nHEAD is now at {key}")


@pytest.mark.parametrize(
    "text", ["$ echo $LANG\nen_GB.UTF-8", "0000:0c:00.0 0000:22:00.0", "$ echo $API_KEY\nuser@host:~$"]
)
def test_what_other_commands_print_stays(text: str) -> None:
    assert "[secret]" not in Redactor().text(text)
