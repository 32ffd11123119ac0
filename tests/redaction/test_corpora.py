"""The corpora of benchmarks/redaction: what may be left of them, and nothing that is masked twice."""

from __future__ import annotations

import pytest

from benchmarks.redaction import corpus
from benchmarks.redaction.__main__ import measured
from doctor.redaction import Redactor

_MOST = {
    "known": (0.01, 0.01),
    "independent": (0.03, 0.05),
    "tickets": (0.03, 0.05),
    "fresh_one": (0.03, 0.06),
    "fresh_two": (0.04, 0.07),
    "fresh_three": (0.03, 0.02),
    "fresh_four": (0.03, 0.06),
    "fresh_five": (0.07, 0.05),
    "fresh_six": (0.0, 0.19),
    "fresh_seven": (0.03, 0.14),
    "fresh_eight": (0.03, 0.02),
    "fresh_nine": (0.02, 0.03),
    "fresh_ten": (0.03, 0.05),
    "fresh_eleven": (0.05, 0.11),
    "fresh_twelve": (0.0, 0.03),
}
"""Shares of secrets and of identities; of facts one in eighty."""


def clean(text: str) -> str:
    return Redactor().text(text)


@pytest.mark.parametrize("half", corpus.HALVES)
def test_no_more_is_left_than_was_promised(half: str) -> None:
    counts = measured(half, clean)
    secrets, identities = counts["secrets left"], counts["identities left"]
    assert secrets.left.total() <= _MOST[half][0] * secrets.planted.total()
    assert identities.left.total() <= _MOST[half][1] * identities.planted.total()
    assert counts["facts eaten"].left.total() <= 0.013 * counts["facts eaten"].planted.total()


def test_the_corpora_are_as_large_as_they_say() -> None:
    both = [measured(half, str) for half in corpus.HALVES]
    kinds = {what: set().union(*(half[what].planted for half in both)) for what in both[0]}
    planted = {what: sum(half[what].planted.total() for half in both) for what in both[0]}
    assert planted["secrets left"] >= 400
    assert len(kinds["secrets left"]) >= 60
    assert planted["identities left"] >= 250
    assert len(kinds["identities left"]) >= 20
    assert planted["facts eaten"] >= 300


def test_no_fact_beside_a_known_secret_goes_with_it() -> None:
    assert not measured("known", clean)["facts beside eaten"].rows


def test_the_program_s_own_ids_stay() -> None:
    from doctor.engine.registry import checks
    from doctor.knowledge.store import table

    ids = {check.rule.id for check in checks()}
    ids |= {str(row["id"]) for row in table("flags/interactions").values() if "id" in row}
    assert len(ids) > 100
    gone = [own for own in sorted(ids) if clean(f"{own}: of what was found") != f"{own}: of what was found"]
    assert not gone


def test_a_name_that_a_field_tells_goes_everywhere() -> None:
    told = clean("uid=1009(okafor2) gid=1009(okafor2)\nOKAFOR2.log run_okafor2_7 x%2Fokafor2%2Fy b2thZm9yMg==")
    assert "okafor" not in told.lower()
    assert "b2thZm9y" not in told


def test_versions_of_four_parts_are_no_addresses() -> None:
    for text in (
        "cuda-toolkit: 12.4.1.0",
        "cudnn 9.1.0.70",
        "libcurand 10.3.5.147",
        "upgrade from 12.1.1.0 to 12.4.1.0",
    ):
        assert clean(text) == text
    assert "10.44.17.203" not in clean("inet 10.44.17.203/22")


def test_a_package_s_log_names_no_host() -> None:
    text = "2026-10-16 23:03:59 install librhash0:amd64 <none> 1.4.3-3"
    assert clean(text) == text
    assert "node07" not in clean("2026-10-16 23:03:59 node07 kernel: amdgpu: ring timeout")


def test_keys_and_paths_tell_names() -> None:
    told = clean("nfsroot=nas7x:/x WANDB_ENTITY=acmelab /mnt/beegfs/users/ehaugland/a\nehaugland nas7x ACMELAB")
    assert not [name for name in ("nas7x", "acmelab", "ehaugland") if name in told.lower()]
    for text in ("Project: PyTorch, host: bare metal", "owner: I think AMD knows", "user: true", "/work/src/vllm/a"):
        assert clean(text) == text


def test_two_hosts_of_a_site_tell_its_name_and_one_does_not() -> None:
    assert "tarnwell" not in clean("https://pypi.tarnwell.io/a https://git.tarnwell.io/b\ncluster of Tarnwell").lower()
    assert "together" in clean("https://api.together.xyz/v1 works, together with vLLM")


def test_signs_that_only_case_makes_equal_end_nothing() -> None:
    """`ſ` is an `s` to a pattern that knows no case, and stays what it is in small letters."""
    redactor = Redactor(users=["sundaram"])
    assert "undaram" not in redactor.text("sundaram was here, \u017fundaram too")


def test_what_one_report_redacts_the_next_one_redacts_too() -> None:
    for _ in range(2):
        assert "zoltan7" not in clean("Account=fusion2 UserId=zoltan7(1009)")


def test_names_stand_in_tables_trees_and_paths() -> None:
    for text, names in (
        ("  PID USER      PR  COMMAND\n  812 mbakker   20  python3\n", ["mbakker"]),
        ("User|Account|State\ngferr|boltz_24|FAILED\n", ["gferr", "boltz_24"]),
        ('{"node": {"name": "lorikeet"}, "submitter": {"login": "bthistle"}}', ["lorikeet", "bthistle"]),
        ("metadata: {name: zebrafinch, namespace: keszthely}", ["zebrafinch", "keszthely"]),
        ("spec:\n  owner:\n    name: pfaversham\n", ["pfaversham"]),
        ("/bulk/liemersgroep/out /data/okonkwoj/miniforge3/bin", ["liemersgroep", "okonkwoj"]),
        ("//smbvault/radiologie /mnt cifs", ["smbvault", "radiologie"]),
        ("NodeList=lrdn[0713-0716]", ["lrdn"]),
    ):
        told = clean(text)
        assert not [name for name in names if name in told], told
    for text in (
        "numa_node: 1, render_node: 128, process_name: python3, gpu-operator: ready",
        "NAME   READY   STATUS    AGE\nnvidia-device-plugin-daemonset-9zz2c   1/1   Running   9d",
        "/data/models/Llama-3-8B /opt/rocm/lib /workspace/vllm/vllm/engine /data/llama.cpp/build",
        "BusId PCI:65:0:0 cuda:0 torch-2.9:1",
        "My GPU user: I think the owner: nobody, host: bare metal",
    ):
        assert clean(text) == text


def test_who_published_a_package_is_no_name_of_the_site() -> None:
    package = "Package: adduser\nStatus: install ok installed\nMaintainer: Jane Doe <adduser@packages.debian.org>\n\n"
    told = clean(package + "uid=5501(rscholle)\n")
    assert "Package: adduser" in told
    assert "rscholle" not in told
    assert "tblei" not in clean("Name:   a-0\nNamespace:  b\nPriority:  0\nannotations: owner=tblei\n")
