"""`os.environ` of a script in Python: what it sets, and what the programs and workers that it starts get.

The script is walked in the order in which it runs, into the functions that it calls by name. How multiprocessing and
Ray pass the environment on was seen by running them (Python 3.11, Ray 2.56): tests/flags/way/cases.yaml.
"""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Sequence

from doctor.flags.way import python_calls as calls
from doctor.flags.way.frame import Remark
from doctor.flags.way.launchers import Call
from doctor.flags.way.model import Alt, Held, Sees, Step, joined, unless_set
from doctor.flags.way.python_calls import Change, Started
from doctor.parsers.text.shell_lexer import HOLE

_LONGEST = 400_000
_DEEPEST = 8
_MOST_STATEMENTS = 4000
_MOST_WORKERS = 20
_MOST_MODULES = 40
_AT_START = {
    "LD_LIBRARY_PATH": "the loader", "LD_PRELOAD": "the loader", "PYTHONPATH": "Python", "PYTHONHASHSEED": "Python",
    "PYTHONUNBUFFERED": "Python", "PYTHONNOUSERSITE": "Python",
}  # fmt: skip
"""Read once, when the process starts."""
_AT_IMPORT = {"OMP_NUM_THREADS": "torch", "MKL_NUM_THREADS": "torch"}
"""Read by libraries that the import loads, when they are loaded."""
_LOADS_TORCH_TEXT = "torch torchvision torchaudio vllm deepspeed accelerate lightning transformer_engine sglang"
_LOADS_TORCH = frozenset(_LOADS_TORCH_TEXT.split())
_BY_RAY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "OMP_NUM_THREADS")


def read(text: str) -> ast.Module | None:
    """None for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return calls.resolved(ast.parse(text[:_LONGEST]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def follow(call: Call, sees: Sees, file: str, text: str, folder: str = "") -> None:
    """What the script starts, and what it has itself from its last change on. What it imports lies in `folder`."""
    tree = read(text)
    if tree is None:
        return
    try:
        walk = _Script(call, file, calls.Module(tree), sees, folder=folder)
        walk.every(tree.body)
    except RecursionError:
        call.run.note(f"{file}: nested too deeply to follow")
        return
    walk.go_on_after(walk.left_at)
    if walk.last:
        call.run.record([f"{file}, from line {walk.last} on"], walk.sees, call.frame, call.line)


class _Script:
    def __init__(
        self, call: Call, file: str, module: calls.Module, sees: Sees, *, folder: str, child: bool = False
    ) -> None:
        self.call, self.file, self.module, self.child, self.folder = call, file, module, child, folder
        """`child`: a worker that runs the module once more; it is not main, and what it starts is not followed."""
        self.sees = sees.copy()
        self.served: Sees | None = None
        """What the first worker of a fork server was started with."""
        self.workers = 0
        self.names: dict[str, Sees | list[str]] = {}
        """Copies of the environment, and command lines, that the script keeps in variables."""
        self.ray = self.last = self.branch = 0
        self.given: set[str] = set()
        """Variables that runtime_env of ray.init passes."""
        self.dead = False
        self.statements = _MOST_STATEMENTS
        self.entered: tuple[str, ...] = ()
        self.left_at: list[Sees] = []
        self.torch = min((n.lineno for n in module.body if calls.imports(n) & _LOADS_TORCH), default=0)
        self.imported: dict[str, tuple[str, calls.Module]] = {}
        """Modules that lie beside the script, by name."""
        self.importing = False
        self.anytime: dict[str, Held] = {}
        """What functions set that others call, or methods: it may hold from the start on, and after each change."""
        self._at_any_time(module)

    def _at_any_time(self, module: calls.Module) -> None:
        for change in module.anytime:
            before = self.sees.of(change.name)
            self._change(change, late=False)
            self.anytime[change.name] = self.sees.of(change.name)
            self.sees.held[change.name] = joined(before, self.sees.of(change.name))

    def every(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self.statements -= 1
            if self.dead or self.statements < 0:
                return
            self._one(node)

    def _one(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(node, ast.If) and calls.asks_for_main(node.test):
            self.every(node.orelse if self.child or self.importing else node.body)
            return
        for name in calls.modules(node):
            self._import(name)
        for each in calls.of(node):
            self._called(each)
        if isinstance(node, (ast.If, ast.For, ast.While, ast.AsyncFor)):
            self._branches([node.body, node.orelse])
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            before = self.sees.copy()
            changed = list(calls.patched(node))
            for change in changed:
                self._change(change, late=False)
            self.every(node.body)
            self.sees.held |= {change.name: before.of(change.name) for change in changed}
        elif isinstance(node, ast.Try):
            self.every(node.body)
            self._branches([[], *(handler.body for handler in node.handlers)])
            self.every(node.finalbody)
        elif isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            self._leave()
        else:
            calls.remember(node, self.names, self.sees, self._step)
            for change in calls.changes(node):
                self._change(change, late=not self.child)

    def _leave(self) -> None:
        self.left_at.append(self.sees)
        self.dead = True

    def go_on_after(self, left_at: Sequence[Sees]) -> None:
        """Where a function or the script was left early."""
        for sees in left_at:
            self.sees = sees if self.dead else self.sees.or_(sees)
            self.dead = False

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]]) -> None:
        before, dead = self.sees, self.dead
        ends: list[Sees] = []
        self.branch += 1
        for body in bodies:
            self.sees, self.dead = before.copy(), dead and not body
            self.every(body)
            if not self.dead:
                ends.append(self.sees)
        self.branch -= 1
        self.dead = True
        self.go_on_after(ends)

    def _import(self, name: str) -> None:
        """A module that lies beside is run where it is first imported."""
        path = posixpath.join(self.folder, name.replace(".", "/"))
        found = None if name in self.imported else self._beside(f"{path}.py") or self._beside(f"{path}/__init__.py")
        tree = read(found[1]) if found else None
        if found is None or tree is None or len(self.imported) >= _MOST_MODULES:
            return
        called = {each.removeprefix(f"{name}.") for each in self.module.called}
        self.imported[name] = (found[0], calls.Module(tree, called))
        self._at_any_time(self.imported[name][1])
        self._within(self.imported[name], tree.body, importing=True)

    def _beside(self, path: str) -> tuple[str, str] | None:
        return self.call.run.file(path, self.call.frame, self.sees.of)

    def _within(self, module: tuple[str, calls.Module], body: Sequence[ast.stmt], *, importing: bool) -> None:
        before = self.file, self.module, self.importing, self.left_at
        (self.file, self.module), self.importing, self.left_at = module, importing, []
        self.every(body)
        self.go_on_after(self.left_at)
        self.file, self.module, self.importing, self.left_at = before

    def _called(self, node: ast.Call) -> None:
        name = calls.dotted(node.func)
        owner, _, last = name.rpartition(".")
        module = self.imported.get(owner, (self.file, self.module))
        function = module[1].functions.get(last if owner in self.imported else name)
        if function is not None and name not in self.entered and len(self.entered) < _DEEPEST:
            self.entered = (*self.entered, name)
            self._within(module, function.body, importing=self.importing)
            self.entered = self.entered[:-1]
        elif not self.child and (started := calls.started(node, self.names, self.sees, self._step)):
            self._start(started)
        if calls.ends(name):
            self._leave()

    def _start(self, started: Started) -> None:
        call = self.call
        if started.argv is not None:
            call._replace(body=None).go_on(started.argv, (started.env or self.sees).copy())
        elif started.ray:
            self.ray = self.ray or started.line
            self.given |= started.given.keys()
            call.run.record([f"Ray workers of {self.file}"], self._ray(started), call.frame, call.line)
        elif (started.method or self.module.method is not None) and self.workers < _MOST_WORKERS:
            self.workers += 1
            label = f"workers of {self.file}, line {started.line}"
            call.run.record([label], self._worker(started.method or self.module.method or ""), call.frame, call.line)

    def _worker(self, method: str) -> Sees:
        """fork: as the script is now. spawn: the same, and the module runs once more. forkserver: as it was when the
        first worker started. Which one is the default depends on Python's release."""
        self.served = self.served or self.sees.copy()
        if method == "fork":
            return self.sees.copy()
        again = self._again(self.sees if method == "spawn" else self.served)
        return again if method in ("spawn", "forkserver") else self.sees.or_(again)

    def _again(self, sees: Sees) -> Sees:
        child = _Script(self.call, self.file, self.module, sees, folder=self.folder, child=True)
        child.every(self.module.body)
        return child.sees

    def _ray(self, started: Started) -> Sees:
        """Workers of a cluster that ray.init starts inherit; those of one that runs already do not."""
        sees = self.sees.copy()
        sees.may_be(self._step(started.line, "Ray sets it for its workers"), *_BY_RAY)
        if started.ray != "local":
            sees = sees.unknown(self._step(started.line, "workers of a running cluster have the cluster's environment"))
        for name, text in started.given.items():
            sees.put(name, text, self._step(started.line, f"env_vars of runtime_env: {name}"))
        return sees

    def _step(self, line: int, what: str) -> Step:
        return Step(self.file, line, what)

    def _change(self, change: Change, *, late: bool) -> None:
        name, before = change.name, self.sees.of(change.name)
        if late:
            self._late(change, before)
        self.last = max(self.last, change.line)
        shown = f"os.environ[{name!r}]" + (f" = {change.text[:40]!r}" if change.text not in (None, HOLE) else "")
        way = "yes" if change.text is not None else "no"
        new = Alt(change.text, way, (self._step(change.line, shown),))  # type: ignore[arg-type]
        made = unless_set(before, new) if change.default else (new,)
        self.sees.held[name] = joined(made, self.anytime.get(name, ()))

    def _late(self, change: Change, before: Held) -> None:
        name, _file = change.name, self.file
        if change.text is None or (change.default and all(a.text is not None for a in before)):
            return
        if (reader := _AT_START.get(name)) is not None:
            problem = (
                f"{name} is set after Python started: {reader} has already read it, so only child processes see it"
            )
            self._remark(name, change.line, problem, f"Set {name} before Python starts.", "info")
        elif name in _AT_IMPORT and self.torch and self.torch < change.line and not self.branch and not self.entered:
            problem = f"{name} is set after line {self.torch} imports torch, which reads it during import"
            self._remark(name, change.line, problem, f"Set {name} above the import.")
        elif self.ray and not self.branch and name not in self.given:
            problem = f"{name} is set after line {self.ray} calls ray.init: Ray's workers do not get it"
            self._remark(
                name, change.line, problem, f"Name {name} in env_vars of runtime_env, or set it above ray.init."
            )

    def _remark(self, name: str, line: int, problem: str, cure: str, severity: str = "warning") -> None:
        self.call.run.remark(Remark("set-too-late", name, self.file, line, problem, cure, severity))
