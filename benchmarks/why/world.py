"""What a pair is made of: two sides with their packages, variables, limits and folders, and the command."""

from __future__ import annotations

import base64
import hashlib
import resource
import shutil
import subprocess
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from doctor.system.live import LIMITS

PROVED, REMAINS, GOOD_FAILS, BAD_WORKS, FLAKY, REFUSED, STATIC = (
    "proved", "what remains", "good fails too", "bad works", "flaky", "refused", "static",
)  # fmt: skip
"""What `--prove` has to answer. STATIC: these sides can't run a command."""
_REAL_NAMES = ("requests", "pyyaml", "tqdm", "regex", "filelock", "fsspec", "psutil", "rich", "sympy", "networkx")
_REAL_VARIABLES = ("EDITOR", "PAGER", "LS_COLORS", "SSH_TTY", "HF_HOME", "WANDB_DIR", "TZ", "CUDA_CACHE_MAXSIZE")


class Side:
    """One of the two. Its environment is made with the first package."""

    def __init__(self, root: Path, name: str) -> None:
        self.name, self.root = name, root / name
        self.folder = root / "folder"
        self.variables = {"PATH": "/usr/bin:/bin", "HOME": str(root), "LANG": "C.UTF-8"}
        self.limits: dict[str, int] = {}
        self.process: subprocess.Popen[bytes] | None = None
        for folder in (self.root, self.folder):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def prefix(self) -> Path:
        made = self.root / "venv"
        if not made.exists():
            venv.create(made, symlinks=True)
        return made

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3.*/site-packages"))

    def install(
        self, name: str, version: str, code: str = "", *, files: Mapping[str, str] | None = None, listed: bool = True
    ) -> None:
        """As a wheel is unpacked: the module `name` with `code`, or these files; a RECORD where it is `listed`."""
        module = name.lower().replace("-", "_").replace(".", "_")
        wanted = {f"{module}/__init__.py": f"version = {version!r}\n{code}"} if files is None else dict(files)
        info = f"{module}-{version}.dist-info"
        wanted[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        rows = [f"{info}/RECORD,,\n"]
        for path, text in wanted.items():
            target = self.site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(text)}\n")
        if listed:
            (self.site / info / "RECORD").write_text("".join(rows))

    def program(self, path: str, text: str) -> Path:
        """An executable file of its own."""
        made = self.root / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        made.chmod(0o755)
        return made

    def compiled(self, path: str, text: str, *flags: str) -> Path:
        """A program or library that gcc makes of this C text."""
        made, source = self.root / path, self.root / "source.c"
        made.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        subprocess.run(["gcc", "-O0", *flags, "-o", str(made), str(source)], check=True, timeout=60)
        source.unlink()
        return made

    def started(self) -> str:
        """`pid:N` of a process that has its variables, limits, folder and Python."""
        python = self.prefix / "bin/python" if (self.root / "venv").exists() else Path("/usr/bin/python3")
        argv = [str(python), "-I", "-S", "-c", "import time; time.sleep(3600)"]
        variables = {**self.variables}
        if (self.root / "venv").exists():
            variables |= {"VIRTUAL_ENV": str(self.prefix), "PATH": f"{self.prefix}/bin:{variables['PATH']}"}
        self.process = subprocess.Popen(
            argv, env=variables, cwd=self.folder, preexec_fn=self._limited, stderr=subprocess.DEVNULL
        )
        return f"pid:{self.process.pid}"

    def _limited(self) -> None:
        for name, soft in self.limits.items():
            resource.setrlimit(LIMITS[name], (soft, resource.getrlimit(LIMITS[name])[1]))

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


class World:
    """Both sides of a pair."""

    def __init__(self, root: Path) -> None:
        self.root, self.good, self.bad = root, Side(root, "good"), Side(root, "bad")
        self.command: list[str] = ["true"]
        self.options: list[str] = []
        self.names: tuple[str, str] | None = None
        """Of sides that are no processes."""
        self.scratch: Path | None = None
        """TMPDIR of `doctor why`."""
        self.said: str | None = None

    def both(self, name: str, good: str, bad: str) -> None:
        """A package that is the same but for its version, or in nothing."""
        self.good.install(name, good)
        self.bad.install(name, bad)

    def harmless(self, packages: int = 0, variables: int = 0) -> None:
        """Differences that nothing depends on; the first few are named as real ones are."""
        names = [*_REAL_NAMES, *(f"helper-{n}" for n in range(packages))][:packages]
        for number, name in enumerate(names):
            self.both(name, f"1.{number}", f"2.{number}")
        names = [*_REAL_VARIABLES, *(f"APP_SETTING_{n}" for n in range(variables))][:variables]
        for number, name in enumerate(names):
            self.good.variables[name], self.bad.variables[name] = f"1{number}", f"2{number}"

    def python(self, code: str) -> None:
        """COMMAND: a script of this text, as a person has one."""
        script = self.root / "use.py"
        script.write_text(code)
        self.command = ["python" if (self.root / "good/venv").exists() else "/usr/bin/python3", str(script)]

    def sides(self) -> tuple[str, str]:
        return self.names or (self.good.started(), self.bad.started())

    def close(self) -> None:
        for side in (self.good, self.bad):
            side.close()

    def symptom(self) -> str:
        """What COMMAND prints on BAD; `said` where it must not run outside of a copy."""
        if self.said is not None:
            return self.said
        argv, bad = list(self.command), self.bad
        variables = dict(bad.variables)
        if (bad.root / "venv").exists():
            variables["PATH"] = f"{bad.prefix}/bin:{variables['PATH']}"
        folder = self.root / "ran"
        folder.mkdir(exist_ok=True)
        place = bad.folder if any(bad.folder.iterdir()) else folder
        argv[0] = shutil.which(argv[0], path=variables["PATH"]) or argv[0]
        done = subprocess.run(
            argv, env=variables, cwd=place, preexec_fn=bad._limited, capture_output=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said = (done.stdout + done.stderr).decode("utf-8", "replace")[-20_000:]
        return said + ("Segmentation fault (core dumped)\n" if done.returncode == -11 else "")


@dataclass(frozen=True)
class Pair:
    """`cause` is the smallest set, as `kind name`; `seen` what the static answer calls it where that is not the same,
    () where nothing that doctor reads holds it. `harmless` is how many differences there are beside it."""

    name: str
    cause: tuple[str, ...]
    harmless: int
    expect: str
    make: Callable[[World], None] = field(repr=False)
    seen: tuple[str, ...] | None = None
    gives_symptom: bool = True

    @property
    def what(self) -> str:
        return " ".join((self.make.__doc__ or "").split())

    @property
    def needs_image(self) -> bool:
        """It is made of containers or images."""
        return self.make.__name__.startswith(("container_", "image_"))

    def ranked(self) -> tuple[str, ...]:
        """The names of the cause in the static answer."""
        if self.seen is not None:
            return self.seen
        forms = {"variable": "environment[{}]", "package": "packages[{}]"}
        return tuple(
            forms.get(kind, f"{kind}[{{}}]").format(rest)
            for kind, _, rest in (word.partition(" ") for word in self.cause)
        )


PAIRS: list[Pair] = []


def pair(
    *cause: str,
    harmless: int,
    expect: str = PROVED,
    seen: tuple[str, ...] | None = None,
    gives_symptom: bool = True,
) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    """Registers a pair; the function makes it, and its docstring is what differs."""

    def register(make: Callable[[World], None]) -> Callable[[World], None]:
        PAIRS.append(Pair(make.__name__, cause, harmless, expect, make, seen, gives_symptom))
        return make

    return register
