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
from tests.redaction.planted import ALL, HARMLESS, PEMS, PLACES, SHAPED, forms


@pytest.mark.parametrize("place", PLACES)
def test_no_planted_secret_is_left(place: str) -> None:
    left = []
    for name, value in ALL.items():
        clean = Redactor().text(PLACES[place](name.replace(" ", "_"), value))
        if "[secret]" not in clean or any(form in clean.encode() for form in forms(value)):
            left.append(name)
    assert not left


@pytest.mark.parametrize("kind", SHAPED)
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
    "sas": "https://x/blob?sv=1&sig=s3cr3tPw", "escaped url": '"http:\\/\\/me:s3cr3tPw@h\\/x"',
}  # fmt: skip


_S = "Zq8vT3kP0sLw9Yb2"
WRITTEN = [
 "password: correct horse battery {S}", "password = my pass {S} word", "export DB_PASSWORD='it'\\''s {S}'",
 'DB_PASSWORD="a\\"b {S}"', json.dumps({"password":'ab"cd {S}'}), json.dumps({"c":json.dumps({"password":'ab"cd {S}'})}),
 json.dumps({"c":json.dumps({"d":json.dumps({"password":'ab"cd\\ {S}'})})}),
 "PASSWORD=$'{S}'", "{'password': b'{S}'}", "password: |\n    line\n    {S}\n  other: x", "password: >-\n  {S}\n",
 "passwords:\n  - abc\n  - {S}\n", '{"tokens_api_keys": 1, "api_keys": ["abc", "{S}"]}',
 '{"name": "DB_PASSWORD", "value": "{S}"}', "- name: DB_PASSWORD\n  value: {S}\n", '{"value":"{S}","name":"API_TOKEN"}',
 '<add key="DbPassword" value="{S}"/>', "<property><name>db.password</name><value>{S}</value></property>",
 '"Env": ["PATH=/bin", "DB_PASSWORD=correct horse {S}"]', '["--password=correct horse {S}"]', '["--password", "correct horse {S}"]',
 "mysql -u root -p{S} db", "mysql -uroot --password={S}", "docker login -u me -p {S} reg", "sshpass -p'{S}' ssh h", "curl -u me:{S} https://h",
 "curl --user 'me:{S}' https://h","ipmitool -I lanplus -H 10.0.0.1 -U admin -P {S} power status", "redis-cli -a {S} ping", "ldapsearch -x -w {S} -D cn=x",
 "smbclient //h/s -U me%{S}", "openssl rsa -passin pass:{S}", "echo {S} | sudo -S ls", "echo '{S}' | docker login --password-stdin",
 "echo root:{S} | chpasswd", "kubectl create secret generic x --from-literal=db={S}", "htpasswd -b f me {S}", "snmpwalk -v2c -c {S} h",
 "machine h\n  login me\n  password {S}\n", "machine h password {S} login me", "default login me password {S}",
 "requirepass {S}", "masterauth {S}", "aws configure set aws_secret_access_key {S}{S}", "ALTER USER x WITH PASSWORD '{S}'", "IDENTIFIED BY '{S}'",
 "API key: {S}", "Secret Access Key: {S}", "your password is {S}", "access token = {S}",
 "postgres://u:p@{S}@h:5432/db", "postgres://u:pa/{S}@h:5432/db", "postgres://u:p#{S}@h/db", "mongodb+srv://u:{S}@h1,h2/db?x", "redis://:{S}@h", "amqp://u:{S}@h/v",
 "jdbc:mysql://h/db?user=u&password={S}", "jdbc:oracle:thin:scott/{S}@h:1521:x", "Driver=x;UID=sa;PWD={S};", "Server=h;Pwd={ab;{S}};", "u:{S}@tcp(h:3306)/db",
 "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={S}{S}==;EndpointSuffix=core", "https://x.blob.core.windows.net/c?sv=2020&sig={S}%3D", "SharedAccessKey={S}=",
 "https://{S}{S}@o123.ingest.sentry.io/45", "Cookie: sid={S}; other={S}", "Set-Cookie: a={S}; Path=/", "curl -H 'Cookie: sid={S}'", '"Authorization": "Bearer {S}{S}"',
 'Authorization: Digest username="x", response="{S}"', "PRIVATE-TOKEN: {S}", "X-Vault-Token: {S}", "X-Api-Key: {S}", "apikey: {S}", "Ocp-Apim-Subscription-Key: {S}",
 "//registry.npmjs.org/:_authToken={S}", "_auth = {S}==", "PrivateKey = {S}{S}abcdefghij=", "PresharedKey = {S}{S}=", "password={S}\\n", '"x\\npassword={S}\\ny"', '"a\\ntoken={S}"',
 "\x1b[32mtoken={S}\x1b[0m", "mount -o username=x,password={S},uid=0", "StoragePass={S}", "AccountingStoragePass={S}", "ldap_bind_pw: {S}", "bindpw {S}", "rocommunity {S}",
 "clientSecret: {S}", "client_secret={S}&grant=x", "?api_key={S}&x=1", "&access_token={S}", "GET /x?token={S} HTTP/1.1",
 "--api-key {S}", "--token={S}", "--hf-token '{S}'", "-password {S}", "/p:{S}", "xfreerdp /u:x /p:{S}",
 "DATABASE_URL=postgres://u:{S}@h/d", "HTTPS_PROXY=http://me:{S}@proxy:3128", "proxy = http://me:{S}@proxy:3128", "http.proxy=me:{S}@h",
 "MUNGE_KEY={S}", "ENCRYPTION_KEY={S}", "SOME_RANDOM_KEY={S}", "MY_FLAG={S}xY9", "--some-flag {S}Xy9a", "--some-flag={S}Xy9a",
 "kind: Secret\ndata:\n  username: {S}\n  other: abc\n", '{"kind":"Secret","data":{"x":"{S}"}}',
 "wandb login 0123456789abcdef0123456789abcdef01234567", "s3cmd secret_key = {S}", "aws_secret_access_key = {S}/{S}+abc", "[default]\naws_secret_access_key={S}/a+b\naws_session_token={S}\n",
 "user = x\npassword = {S}\n", "channels:\n  - https://conda.anaconda.org/t/ab-{S}/chan\n", "index-url = https://__token__:{S}@h/simple", "machine api.wandb.ai\n\tlogin user\n\tpassword {S}",
 "psk=\"{S}\"", "wpa_passphrase ssid {S}", "%any : PSK \"{S}\"", "password {S}", "token {S}", "set token {S}", "passwd={S}", "pass: {S}", "pw={S}", "secret={S}", "auth={S}", '{"auth":"{S}"}',
 "spring.datasource.password={S}", "db.password: {S}", "config[\"password\"] = \"{S}\"", "config['api_key']='{S}'", "os.environ['TOKEN']='{S}'", "os.environ[\"HF_TOKEN\"] = \"{S}\"", "setenv TOKEN {S}", "set PASSWORD {S}", "ENV API_TOKEN {S}", "ARG TOKEN={S}",
 "SecretKey={S}", "secretKey = {S}", "api.secret_key: {S}", "\"secret_key\" = \"{S}\"", "NEPTUNE_API_TOKEN={S}", "CLEARML_API_SECRET_KEY={S}", "api { credentials { \"secret_key\" = \"{S}\" } }",
 "psql \"host=h password={S} user=x\"", "Environment=\"HF_TOKEN={S}\" \"A=b\"", "Environment=HF_TOKEN={S} A=b", "Environment='DB_PASSWORD=a b {S}'", "ExecStart=/usr/bin/x --password {S} --port 80",
 "PASSWORD='{S}", 'token="{S}', "password:{S}", "password :{S}", "password=>'{S}'", ":password => \"{S}\"", "password := \"{S}\"", "<password>{S}</password>", "<Password Type='x'>{S}</Password>", "password&#61;{S}", "password%3D{S}", "PASSWORD\t=\t{S}", "password..........: {S}" , "Password              : {S}", "| password | {S} |",
 "git clone https://oauth2:{S}@gitlab.com/x", "https://user:{S}@h:8080/path?x=1", "ftp://u:{S}@h", "ssh://u:{S}@h", "//u:{S}@h/share", "smb://dom;u:{S}@h/s", "rtsp://u:{S}@cam", "socks5://u:{S}@h:1",
 "0:password={S}", "argv: ['x', '--token', '{S}']", "('--password', '{S}')", "cmd=[\"sh\",\"-c\",\"export TOKEN={S}; run\"]", "sh -c \"TOKEN={S} run\"", "env TOKEN={S} PASS={S} run",
 "--password\x00{S}\x00--x", "mysql\x00-p{S}\x00db", "curl\x00-u\x00me:{S}\x00h", "A=1\x00DB_PASSWORD=a b {S}\x00C=2",
]  # fmt: skip
"""As people, shells, tools and libraries write them; `{S}` is the secret."""


@pytest.mark.parametrize("text", WRITTEN)
def test_ways_of_writing(text: str) -> None:
    assert _S[:12] not in Redactor().text(text.replace("{S}", _S))


@pytest.mark.parametrize("place", ELSEWHERE)
def test_places_that_hold_secrets(place: str) -> None:
    assert "s3cr3tPw" not in Redactor().text(ELSEWHERE[place])


@pytest.mark.parametrize("text", HARMLESS)
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
