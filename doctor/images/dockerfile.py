"""Recipe -> Dockerfile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from doctor.images.quoting import comment, docker
from doctor.images.recipe import UID, Recipe
from doctor.images.requirements import lists

VENV = "/opt/venv"
DOCTOR = "/opt/doctor"
CACHE = "/cache"
SECRET_LIKE = re.compile(r"TOKEN|SECRET|PASS|CREDENTIAL|AUTH|_KEY|API", re.IGNORECASE)
_SECRETS = {
    "apt": ("apt_conf", "apt_sources", "ca"),
    "python": ("pip_conf", "netrc", "ca"),
}
_OUTSIDE = (
    "# A named build context: `--build-context wheels=FOLDER` puts files that are at hand in the place of this.",
    "FROM scratch AS wheels",
)


def dockerfile(recipe: Recipe) -> str:
    """The same recipe gives the same bytes."""
    parts = [_head(recipe), _OUTSIDE, _os(recipe), _python(recipe), _runtime(recipe)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(recipe: Recipe) -> Iterator[str]:
    yield "# check=error=true"
    yield from comment(f"{recipe.name}: {recipe.profile.about}")
    yield "# Written by `doctor image emit`; an edit is lost. The frontend is the one that BuildKit has built in."
    yield f"# Build it with Docker 23 or newer: docker build -t {recipe.profile.image_name} ."
    if recipe.unlocked:
        yield "#"
        yield "# !!! UNLOCKED, never built: what it installs can change."
        yield from comment(f"!!! Not locked: {'; '.join(recipe.unlocked)}.")
        yield from comment(
            f"!!! `doctor image lock {recipe.name}` locks it; `doctor image build` needs --unlocked until then."
        )


def _from(recipe: Recipe, stage: str, of: str | None = None) -> Iterator[str]:
    yield f"FROM {of or recipe.reference} AS {stage}"
    yield "# Each stage that runs something bears the same time, or what it writes differs from build to build."
    yield f"ARG SOURCE_DATE_EPOCH={recipe.epoch}"


def _mounts(kind: str, *caches: str) -> Iterator[str]:
    yield f"--mount=type=bind,source={kind},target=/run/{kind}"
    yield from (f"--mount=type=secret,id={name},target=/run/secrets/{name}" for name in _SECRETS[kind])
    yield from (f"--mount=type=cache,target={cache},sharing=locked" for cache in caches)


def _run(mounts: Iterator[str], *commands: str) -> Iterator[str]:
    yield "RUN " + " \\\n    ".join([*mounts, " && ".join(commands[:1]), *[f"&& {c}" for c in commands[1:]]])


_WHEELS = "--mount=type=bind,from=wheels,target=/run/wheels"


def _apt_mounts() -> list[str]:
    return [*_mounts("apt", "/var/cache/apt", "/var/lib/apt/lists"), _WHEELS]


def _apt_run(*commands: str) -> Iterator[str]:
    yield from _run(iter(_apt_mounts()), *commands)


def _os(recipe: Recipe) -> Iterator[str]:
    if recipe.digest is None:
        yield "# !!! The base is a tag, and a tag moves: what is built today is not what is built tomorrow."
    yield from _from(recipe, "os")
    yield from (line for p in recipe.runtime_packages for line in comment(f"{p.name}: {p.why}"))
    if recipe.debs is not None and recipe.snapshot is None:
        yield "# Versions are pinned; no archive by date was there when this was locked: they hold while it has them."
    keep = f"sh /run/image/keep-targets.sh {','.join(recipe.targets)} /usr/lib/x86_64-linux-gnu /usr/lib"
    if recipe.vendor == "amd" and recipe.targets and not recipe.torch:
        yield f"# Kernels of rocBLAS for other GPUs than {', '.join(recipe.targets)} are left out."
        bind = "--mount=type=bind,source=image,target=/run/image"
        mounts = iter([*_apt_mounts(), bind])
        yield from _run(mounts, "sh /run/apt/install.sh runtime.txt", keep)
    else:
        yield from _apt_run("sh /run/apt/install.sh runtime.txt")


def _python(recipe: Recipe) -> Iterator[str]:
    yield from _from(recipe, "python", "os")
    if recipe.build_packages:
        yield from (line for p in recipe.build_packages for line in comment(f"{p.name}: {p.why}"))
        yield from _apt_run("sh /run/apt/install.sh build.txt")
    yield f"RUN {recipe.interpreter} -m venv {VENV}"
    files = [name for name in lists(recipe) if name.startswith("requirements")]
    mounts = [*_mounts("python", "/root/.cache/pip"), _WHEELS]
    for package in recipe.pip:
        yield from comment(f"{package.name} {package.full or 'of the day'}: {package.why}")
    install = f"sh /run/python/install.sh {VENV}/bin/python"
    commands = [f"{install} {' '.join(files)}"] if files else []
    extra = []
    if recipe.vendor == "amd" and recipe.torch and recipe.targets:
        yield f"# BLAS kernels for other GPUs than {', '.join(recipe.targets)} are left out of the layer."
        library = f"{VENV}/lib/python{recipe.python}/site-packages/torch/lib"
        commands.append(f"sh /run/image/keep-targets.sh {','.join(recipe.targets)} {library}")
        extra = ["--mount=type=bind,source=image,target=/run/image"]
    if commands:
        yield from _run(iter([*mounts, *extra]), *commands)
    for build in recipe.builds:
        yield from comment(
            f"{build.name} for {', '.join(recipe.targets)} alone; a job takes up to {build.job_gib} GiB: {build.source}"
        )
        words = " ".join(f"{name}='{value}'" for name, value in build.environment)
        script = f"{words} sh /run/python/compile.sh {VENV}/bin/python {build.job_gib} compiled-{build.name}.txt"
        # No cache of pip's: it would be locked for as long as this takes, and a wheel kept there is of other targets.
        yield from _run(iter([*_mounts("python"), _WHEELS]), script)
    if recipe.doctor:
        yield "# The doctor, and what it needs, out of the way of the stack."
        yield from _run(
            iter([*mounts, "--mount=type=bind,source=doctor,target=/run/doctor"]),
            f"{install} --target {DOCTOR} ../doctor/needs.txt ../doctor/doctor.txt",
            f"PYTHONHASHSEED=0 {VENV}/bin/python -m compileall -q -j 1 {DOCTOR}",
        )


def _runtime(recipe: Recipe) -> Iterator[str]:
    yield from _from(recipe, "runtime", "os")
    yield "# What changes least comes first, so that images share layers. The image's user owns it and may install"
    yield "# beside it; the constraints below hold torch."
    for layer, names in _layers(recipe):
        venv = f"--mount=type=bind,from=python,source={VENV},target=/run/venv"
        mounts = iter([venv, f"--mount=type=bind,source=image/layer,target=/run/{layer}"])
        yield from _run(mounts, f"{recipe.interpreter} -IB /run/{layer} {VENV} {' '.join(names)}".rstrip())
    if recipe.doctor:
        yield f"COPY --from=python {DOCTOR} {DOCTOR}"
    yield "COPY --chmod=0644 image/image.conf image/environment python/constraints.txt /etc/doctor/"
    yield "COPY --chmod=0755 image/entrypoint.sh /usr/local/bin/doctor-entrypoint"
    if recipe.doctor:
        yield "COPY --chmod=0755 image/doctor.sh /usr/local/bin/doctor"
    folders = ["/work", *([CACHE] if recipe.serve else [])]
    yield "# The user is a number, so that an orchestrator sees that it is not root; the render group's is the host's."
    yield (
        f"RUN groupadd --gid {UID} worker && useradd --uid {UID} --gid {UID} --create-home --shell /bin/bash "
        f"--no-log-init worker && install -d -o {UID} -g {UID} {' '.join(folders)}"
    )
    yield from _environment(recipe)
    if recipe.torch:
        expected = f"{recipe.vendor or 'nvidia'} {recipe.torch.full or ''} {recipe.torch_runtime or '-'}"
        yield "# torch is what was asked for, or there is no image."
        yield (
            "RUN --network=none --mount=type=bind,source=image,target=/run/image \\\n"
            f"    {VENV}/bin/python -B /run/image/assert-torch {expected}"
        )
    yield from _labels(recipe)
    yield "WORKDIR /work"
    yield f"USER {UID}:{UID}"
    yield from _serve(recipe)
    yield 'ENTRYPOINT ["/usr/local/bin/doctor-entrypoint"]'
    yield f"CMD {json.dumps(recipe.serve.command if recipe.serve else ['bash'])}"


def _layers(recipe: Recipe) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Layers of the virtual environment and the names of what is in each; the last has all others. ROCm's libraries are
    in torch's wheel."""
    if recipe.pip and recipe.vendor == "nvidia":
        yield "libraries", ("'nvidia-*'", "'cuda-*'")
    if recipe.pip:
        yield "framework", ("torch", "triton", "'*triton-rocm'", "'jax*'", "tensorflow")
    yield "others", ()


def _serve(recipe: Recipe) -> Iterator[str]:
    serve = recipe.serve
    if serve:
        yield from comment(f"{serve.why} {serve.source.url}, {serve.source.as_of.isoformat()}")
        yield "# Models and compiled kernels are kept in the volume."
        yield f'ENV XDG_CACHE_HOME="{CACHE}"'
        yield f"VOLUME {CACHE}"
        yield f"EXPOSE {serve.port}"
        ask = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{serve.port}{serve.health}', timeout=5)"
        yield "HEALTHCHECK --interval=30s --timeout=10s --start-period=600s --retries=3 \\"
        yield f'    CMD ["python", "-c", "{ask}"]'


def _environment(recipe: Recipe) -> Iterator[str]:
    yield "# What is installed later obeys the constraints too: a package that would replace torch is refused."
    constraints = "/etc/doctor/constraints.txt"
    yield f'ENV PATH="{VENV}/bin:$PATH" VIRTUAL_ENV="{VENV}"'
    yield f'ENV PIP_CONSTRAINT="{constraints}" UV_CONSTRAINT="{constraints}"'
    if recipe.vendor == "nvidia":
        yield "# What NVIDIA's container runtime is to pass; CUDA's compatibility libraries are on no loader path."
        yield 'ENV NVIDIA_VISIBLE_DEVICES="all" NVIDIA_DRIVER_CAPABILITIES="compute,utility"'
    for flag in recipe.flags:
        if SECRET_LIKE.search(flag.name):  # ENV of such a name is what scanners look for; the entrypoint sets it
            continue
        since = f" Read by {flag.versions}." if flag.versions else " Read by any version; by none, it does nothing."
        yield from comment(f"{flag.why}{since} {flag.source.url}, {flag.source.as_of.isoformat()}")
        yield f"ENV {flag.name}={docker(flag.value)}"


def _labels(recipe: Recipe) -> Iterator[str]:
    prefix = "org.opencontainers.image"
    labels = {
        f"{prefix}.title": recipe.name,
        f"{prefix}.description": recipe.profile.about,
        f"{prefix}.base.name": recipe.place,
        f"{prefix}.base.digest": recipe.digest,
        "doctor.profile": recipe.name,
        "doctor.targets": ",".join(recipe.targets) or None,
        "doctor.lock": recipe.lock.digest() if recipe.lock and not recipe.unlocked else "none",
    }
    rows = [f"{name}={docker(value)}" for name, value in labels.items() if value]
    yield "LABEL " + " \\\n      ".join(rows)
