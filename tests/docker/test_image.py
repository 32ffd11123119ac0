"""`doctor image` and `doctor run` with a real engine and a registry on loopback: locked, built twice, verified, run.

One profile bears all (tests/docker/image_place.py): an apt layer, a Python layer, a user, a torch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from doctor.images import oci
from doctor.images.verify import wheel
from doctor.system.engine_api import EngineError, connected
from tests.docker.conftest import REPO, run
from tests.docker.image_place import BASE, PLANTED, PORT, PROFILE, SECRETS, Place, Walked, walked
from tests.docker.test_containers import RENDER_GID, node_folder, passed

pytestmark = pytest.mark.engine
_ = node_folder  # a fixture of the neighbour


@pytest.fixture(scope="module", autouse=True)
def cache(engine: str) -> Iterator[None]:
    """What the builds leave in the cache is some 2 GB; where the engine is the tests' own it is given back."""
    yield
    if os.environ.get("DOCTOR_REQUIRE_ENGINE"):
        run(engine, "builder", "prune", "--all", "--force")


def test_the_lock_has_the_registrys_digest_and_what_apt_would_install(built: Place, registry: str) -> None:
    lock = json.loads((built.files / "lock.json").read_text())
    accept = {
        "Accept": "application/vnd.oci.image.manifest.v1+json,application/vnd.docker.distribution.manifest.v2+json,"
        "application/vnd.oci.image.index.v1+json,application/vnd.docker.distribution.manifest.list.v2+json"
    }
    served = httpx.head(f"{registry}/v2/debian/manifests/12", headers=accept).headers["docker-content-digest"]
    assert lock["base"]["digest"] == served
    assert f"FROM {BASE}@{served} AS os" in (built.files / "Dockerfile").read_text()
    assert "less" in {d["name"] for d in lock["apt"]["runtime"]}
    assert "python3.11-venv" in {d["name"] for d in lock["apt"]["build"]}
    assert {w["name"] for w in lock["stack"]["wheels"]} == {"torch"}


def test_a_lock_is_kept_and_an_update_only_shows_what_would_move(built: Place) -> None:
    before = (built.files / "lock.json").read_bytes()
    again = built.doctor("image", "lock", "doctor-test", "--wheels=wheels")
    assert (again.returncode, again.stdout) == (0, "")
    assert (built.files / "lock.json").read_bytes() == before


def test_built_twice_it_has_one_digest_and_a_record_beside_it(built: Place, engine: str) -> None:
    record = built.record
    assert record["rebuilt_to_the_same_digest"] is True
    assert record["differences"] == []
    assert record["doctor"]["sha256"]
    kept = run(engine, "image", "inspect", "--format", "{{.Id}} {{.Config.User}}", "doctor/doctor-test").stdout.split()
    assert kept == [record["digest"], "10001:10001"]
    text = (built.root / "images" / "doctor-test.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = json.loads(text)
    parts = {c["purl"] for c in bom["components"]}
    assert bom["bomFormat"] == "CycloneDX"
    assert {p.split("@")[0] for p in parts} >= {"pkg:deb/debian/less", "pkg:pypi/torch"}
    assert "pkg:pypi/torch@2.13.0%2Brocm7.2" in parts
    assert {p.partition("?")[2] for p in parts if p.startswith("pkg:deb/debian/less@")} == {
        "arch=amd64&distro=debian-12"
    }


def test_a_provenance_statement_names_what_went_in(built: Place) -> None:
    """The fields that in-toto's Statement v1 and SLSA's provenance v1 ask for."""
    told = json.loads((built.root / "images" / "doctor-test.provenance.json").read_text())
    record, lock = built.record, json.loads((built.files / "lock.json").read_text())
    assert (told["_type"], told["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://slsa.dev/provenance/v1",
    )
    assert [s["digest"]["sha256"] for s in told["subject"]] == [record["digest"].partition(":")[2]]
    definition, details = told["predicate"]["buildDefinition"], told["predicate"]["runDetails"]
    assert {"buildType", "externalParameters", "resolvedDependencies"} <= set(definition)
    assert ":" in definition["buildType"]
    assert ":" in details["builder"]["id"]
    inputs = {d["uri"]: d.get("digest", {}).get("sha256") for d in definition["resolvedDependencies"]}
    place = f"?repository_url=localhost:{PORT}/debian&tag=12"
    assert inputs[f"pkg:oci/debian@{lock['base']['digest']}{place}"] == lock["base"]["digest"].partition(":")[2]
    assert inputs["pkg:pypi/torch@2.13.0%2Brocm7.2"] == lock["stack"]["wheels"][0]["sha256"]
    debs = {PackageURL.from_string(uri): digest for uri, digest in inputs.items() if uri.startswith("pkg:deb/")}
    named = {(url.namespace, url.name, url.version): digest for url, digest in debs.items()}
    assert {("debian", d["name"], d["version"]): d["sha256"] for d in lock["apt"]["runtime"]}.items() <= named.items()
    assert all(d["sha256"] for d in lock["apt"]["runtime"])


def test_verify_finds_it_fit(built: Place) -> None:
    done = built.doctor("image", "verify", "doctor-test", "--format=json")
    found = {c["name"]: (c["outcome"], c["text"]) for c in json.loads(done.stdout)["checks"]}
    # The stand-in computes nothing, so that its smoke test fails, and it alone.
    assert [n for n, (outcome, _) in found.items() if outcome == "failed"] == ["torch computes (on the CPU)"]
    assert found["torch is held"][0] == "ok"
    assert "torch==2.13.0+rocm7.2" in found["torch is held"][1]
    assert found["doctor check inside"][0] == "ok"


@pytest.fixture(scope="module")
def saved(built: Place, engine: str, tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """As the engine saves it."""
    archive = tmp_path_factory.mktemp("saved") / "image.tar"
    assert run(engine, "save", "-o", str(archive), "doctor/doctor-test", timeout=300).returncode == 0
    return walked(archive)


def test_planted_secrets_are_in_no_layer_label_history_or_record(built: Place, saved: Walked) -> None:
    assert saved.planted == []
    assert PLANTED not in json.dumps(saved.config)
    assert "proxy.invalid" not in json.dumps(saved.config)
    made = [p for folder in ("images", "dockerfiles") for p in (built.root / folder).rglob("*") if p.is_file()]
    assert [p.name for p in made if PLANTED in p.read_text(errors="replace")] == []


def test_the_doctor_in_it_bears_the_locks_time(built: Place, saved: Walked) -> None:
    times = {time for layer in saved.layers for path, time in layer.items() if path.startswith("opt/doctor")}
    assert times == {built.record["epoch"]}


def test_torch_is_a_layer_of_its_own_whose_bytes_know_no_day(saved: Walked) -> None:
    """Another lock with the same torch has the same layer, which is then neither built nor pulled again."""
    site = "opt/venv/lib/python3.11/site-packages"
    (of_torch,) = [times for times in saved.layers if f"{site}/torch/version.py" in times]
    assert "opt/venv/bin/pip" not in of_torch
    assert not any(f"{site}/torch/__init__.py" in times for times in saved.layers if times is not of_torch)
    assert any("opt/venv/bin/pip" in times for times in saved.layers)
    assert {path: time for path, time in of_torch.items() if time != 1577836800} == {}


def test_it_is_pushed_with_its_digest(built: Place, registry: str) -> None:
    manifest = httpx.get(
        f"{registry}/v2/team/doctor-test/manifests/1", headers={"Accept": "application/vnd.oci.image.manifest.v1+json"}
    )
    assert f"sha256:{hashlib.sha256(manifest.content).hexdigest()}" == built.record["digest"]


def test_a_failed_push_is_one_line_and_the_image_stays(built: Place, engine: str) -> None:
    name = "localhost:9/team/doctor-test:1"
    try:
        with connected("docker") as api:
            api.tag("doctor/doctor-test", name)
            with pytest.raises(EngineError, match="localhost:9") as failed:
                api.push(name, lambda _: None)
        assert len(str(failed.value).splitlines()) == 1
        assert run(engine, "image", "inspect", "doctor/doctor-test").returncode == 0
    finally:
        run(engine, "rmi", "-f", name)


def test_hostile_prose_is_a_label_and_nothing_else(built: Place, engine: str) -> None:
    form = '{{index .Config.Labels "org.opencontainers.image.description"}}'
    label = run(engine, "image", "inspect", "--format", form, "doctor/doctor-test").stdout.strip()
    assert label == 'What the engine tests build: $(touch /planted) "quoted" ; `id`'
    assert run(engine, "run", "--rm", "doctor/doctor-test", "test", "-e", "/planted").returncode == 1


def test_doctor_run_starts_it_by_the_profiles_name(built: Place) -> None:
    words = ("run", "--gpus=none", "doctor-test", "--", "sh", "-c", "id -u; echo $SAFETENSORS_FAST_GPU; python -V")
    done = built.doctor(*words)
    assert done.stdout.splitlines() == ["10001", "1", "Python 3.11.2"], done.stderr


def test_a_later_install_that_would_replace_torch_is_refused(built: Place, engine: str) -> None:
    other = built.root / "other"
    other.mkdir()
    wheel(other, "torch", "2.15.0")
    wheel(other, "wants-newer-torch", "1.0", "torch>=2.14")
    for path in (built.root, other, *other.iterdir(), *built.root.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    words = ("run", "--rm", "--network=none", "-v", f"{other}:/wheels:ro", "doctor/doctor-test")
    done = run(engine, *words, "pip", "install", "--no-index", "--find-links=/wheels", "wants-newer-torch")
    assert done.returncode != 0
    assert "The user requested (constraint) torch==2.13.0+rocm7.2" in done.stdout + done.stderr


def test_the_images_user_installs_into_the_venv_and_so_does_an_image_from_it(built: Place, engine: str) -> None:
    more = built.root / "more"
    more.mkdir()
    wheel(more, "extra-thing", "1.0")
    for path in (more, *more.iterdir()):
        path.chmod(path.stat().st_mode | 0o055)
    install = ("pip", "install", "--no-index", "--find-links=/wheels", "extra-thing")
    done = run(engine, "run", "--rm", "--network=none", "-v", f"{more}:/wheels:ro", "doctor/doctor-test", *install)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (REPO / "docs/images.md").read_text()
    recipe = page.partition("```dockerfile\n")[2].partition("```")[0]
    assert recipe.startswith("FROM doctor/h100-cuda13.2-train\n")
    (more / "Dockerfile").write_text(recipe.replace("h100-cuda13.2-train", "doctor-test"))
    (more / "requirements.txt").write_text("--no-index\n--find-links=/work\nextra-thing\n")
    (more / "train.py").write_text("import importlib.metadata as m; print(m.version('extra-thing'))\n")
    try:
        made = run(engine, "build", "-q", "-t", "doctor-test/from", str(more), timeout=300)
        assert made.returncode == 0, made.stderr
        assert run(engine, "run", "--rm", "-e", "DOCTOR_QUIET=1", "doctor-test/from").stdout == "1.0\n"
    finally:
        run(engine, "rmi", "-f", "doctor-test/from")


def test_plain_docker_builds_an_emitted_folder_to_an_image_whose_doctor_works(built: Place, engine: str) -> None:
    """`wheels` and `ca` are this place's: its torch is on no index, and its index has a certificate of its own."""
    own = (f"--build-context=wheels={built.root / 'wheels'}", f"--secret=id=ca,src={built.root / 'ca'}")
    try:
        made = run(engine, "build", *own, "-t", "doctor-test/plain", str(built.files), timeout=580)
        assert made.returncode == 0, made.stderr
        said = run(
            engine, "run", "--rm", "--network=none", "-e", "DOCTOR_QUIET=1", "doctor-test/plain", "doctor", "version"
        )
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout
    finally:
        run(engine, "rmi", "-f", "doctor-test/plain")


def test_with_fixed_times_plain_buildx_comes_to_the_same_digest(built: Place, engine: str, tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    output = f"type=oci,dest={archive},rewrite-timestamp=true,name=doctor/doctor-test:latest,compression=zstd"
    words = ("--provenance=false", f"--build-arg=SOURCE_DATE_EPOCH={built.record['epoch']}", "--platform=linux/amd64")
    own = (f"--build-context=wheels={built.root / 'wheels'}", f"--secret=id=ca,src={built.root / 'ca'}")
    made = run(
        engine, "buildx", "build", *words, *own, f"--output={output},oci-mediatypes=true", str(built.files), timeout=580
    )
    assert made.returncode == 0, made.stderr
    assert oci.read(archive).digest == built.record["digest"]


def test_a_torch_that_was_replaced_all_the_same_is_told_at_the_start(built: Place, engine: str) -> None:
    version = built.root / "version.py"
    version.write_text("__version__ = '2.15.0'\ncuda = '13.2'\nhip = None\n")
    inside = "/opt/venv/lib/python3.11/site-packages/torch/version.py"
    done = run(engine, "run", "--rm", "-v", f"{version}:{inside}:ro", "doctor/doctor-test", "true")
    assert "torch is 2.15.0, and this image was built with 2.13.0+rocm7.2" in done.stderr


def test_the_entrypoint_says_what_is_missing_before_the_workload_fails(
    built: Place, engine: str, node_folder: Path
) -> None:
    without = run(engine, "run", "--rm", "doctor/doctor-test", "echo", "ran")
    assert "no /dev/kfd in this container" in without.stderr
    assert without.stdout == "ran\n"
    required = run(engine, "run", "--rm", "-e", "DOCTOR_REQUIRE_GPU=1", "doctor/doctor-test", "echo", "ran")
    assert (required.returncode, required.stdout) == (78, "")
    denied = run(engine, "run", "--rm", *passed(node_folder), "doctor/doctor-test", "true")
    assert f"belongs to gid {RENDER_GID}: add --group-add {RENDER_GID}" in denied.stderr
    given = run(engine, "run", "--rm", *passed(node_folder), f"--group-add={RENDER_GID}", "doctor/doctor-test", "true")
    assert given.stderr == ""


def test_what_is_not_locked_is_refused_and_a_failing_step_is_one_line(built: Place) -> None:
    other = built.root / "config/doctor/profiles/unlocked.toml"
    text = PROFILE.replace('"doctor-test"', '"unlocked"').replace('name = "less"', 'name = "no-such-package-at-all"')
    other.write_text(text)
    refused = built.doctor("image", "build", "unlocked")
    assert refused.returncode == 2
    assert "unlocked is UNLOCKED" in refused.stderr
    assert "doctor image lock unlocked" in refused.stderr
    failed = built.doctor("image", "build", "unlocked", "--unlocked", "--wheels=wheels", *SECRETS)
    assert failed.returncode == 3
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("doctor: step [os 2/2] RUN")
    assert "Unable to locate package no-such-package-at-all" in last
    other.unlink()
