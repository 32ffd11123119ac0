"""Jobs of GitLab CI and GitHub Actions: what their scripts start with, and hand on to the next step."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.flags.way import words
from doctor.flags.way.containers import env_file_lines
from doctor.flags.way.frame import Frame, Runs
from doctor.flags.way.model import OUTER, Alt, Sees, Step
from doctor.parsers.container.yaml_tree import NOTHING, Node
from doctor.parsers.text.shell_lexer import HOLE

_MOST = 200
_DEEPEST = 10
_HANDED_ON = "/github/env"
_SHELLS = ("bash", "sh")


def gitlab(run: Runs, source: str, root: Node) -> None:
    """before_script and script are one shell, after_script is another. A variable of the project wins over the file."""
    for name, job in list(root.fields.items())[:_MOST]:
        made = _extended(root, job, 0)
        if name.startswith(".") or "script" not in made:
            continue
        sees = Sees(OUTER)
        for key, value in made.items():
            if key.startswith("$"):
                text = value.text if value.text is not None else value.at("value").text
                step = Step(source, value.line, f"variables: {key[1:]}")
                own = Alt(HOLE if text is None or "$" in text else text, "yes", (step,))
                sees.held[key[1:]] = (own, Alt(None, "yes", (step,), "set"))
        frame = Frame(source, where=f"job {name}"[:60])
        for parts in (("before_script", "script"), ("after_script",)):
            items = [item for part in parts for item in _texts(made.get(part, NOTHING))]
            text, line = "", items[0][1] if items else 1
            for item, at in items:
                text += "\n" * max(at - line - text.count("\n"), 1 if text else 0) + item
            if text:
                run.text(text, sees.copy(), frame, line)


def _extended(root: Node, job: Node, depth: int) -> dict[str, Node]:
    """The keys of a job with those that it extends, and the defaults; each variable as `$NAME`."""
    parents = job.fields.get("extends", NOTHING)
    made: dict[str, Node] = {}
    if depth == 0:
        made = _flat(root.at("default")) | _flat(
            root._replace(
                fields={k: root.at(k) for k in ("before_script", "after_script", "variables") if k in root.fields}
            )
        )
    for parent in (parents, *parents.items) if depth < _DEEPEST else ():
        found = root.fields.get(parent.text or "")
        made |= _extended(root, found, depth + 1) if found else {}
    return made | _flat(job)


def _flat(node: Node) -> dict[str, Node]:
    own = {f"${name}": value for name, value in node.at("variables").fields.items()}
    return {**node.fields, **own}


def _texts(node: Node) -> Iterator[tuple[str, int]]:
    """The commands of a list, or of one text, with their lines."""
    for item in node.items or [node]:
        if item.items:
            yield from _texts(item)
        elif item.text:
            yield item.text, item.line + ("\n" in item.text)


def github(run: Runs, source: str, root: Node) -> None:
    """Each `run` is a shell of its own; what it writes to $GITHUB_ENV is set for the steps behind it."""
    for name, job in list(root.at("jobs").fields.items())[:_MOST]:
        sees = Sees(OUTER)
        for node in (root, job.at("container"), job):
            _set(sees, node, source)
        for step in job.at("steps").items[:_MOST]:
            here, text = sees.copy(), step.at("run").text
            _set(here, step, source)
            if "uses" in step.fields:
                sees.may_have(Step(source, step.line, "the action may set it"))
            if not text or (step.at("shell").text or "bash").split()[0] not in _SHELLS:
                continue
            at = Step(source, step.at("run").line, "$GITHUB_ENV", words.WRITTEN)
            here.put("GITHUB_ENV", _HANDED_ON, at)
            here.put(words.WRITTEN + _HANDED_ON, "\n", at)
            env = run.text(text, here, Frame(source, outside=True, where=f"job {name}"[:60]), at.line + ("\n" in text))
            held = env.get(words.WRITTEN + _HANDED_ON) if env else ()
            before = sees.copy()
            if len(held) != 1 or held[0].text is None or HOLE in held[0].text:
                sees.may_have(at._replace(id=""))
            else:
                for _, each, value in env_file_lines(held[0].text):
                    sees.put(each, value, at._replace(what=f"$GITHUB_ENV: {each}", id=""))
            sees = sees.or_(before) if "if" in step.fields else sees


def _set(sees: Sees, node: Node, source: str) -> None:
    for name, value in node.at("env").fields.items():
        sees.put(name, value.text or "", Step(source, value.line, f"env: {name}"))
