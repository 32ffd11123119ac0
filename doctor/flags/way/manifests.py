"""Compose files, Kubernetes manifests and jobs of CI: what their programs get."""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.flags.way import jobs, words
from doctor.flags.way.docker_file import of_image
from doctor.flags.way.frame import Frame, Runs
from doctor.flags.way.model import OUTER, Alt, Env, Held, Sees, Step, joined
from doctor.parsers.container import assigned_yaml, yaml_tree
from doctor.parsers.container.yaml_tree import NOTHING, Node
from doctor.parsers.text.shell_lexer import HOLE, Lexer, ShellError

_COMPOSE = re.compile(r"\$(?:(\$)|(\w{1,127})|\{(\w{1,127})(?:(:?[-+?])([^{}]{0,2000}))?\})")
_KUBERNETES = re.compile(r"\$(\$)?\(([A-Za-z_][\w.-]{0,127})\)")
_COMPOSE_LINE = re.compile(r"\s{0,20}(?:export\s{1,9})?([A-Za-z_]\w{0,127})\s{0,9}[=:](.*)")

_BY_OPERATOR = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")


def yaml_file(run: Runs, source: str, text: str) -> None:
    text = text.replace("${{", "{{")
    template = "{{" in text or "{%" in text
    try:
        roots = yaml_tree.roots(assigned_yaml.templated(text).replace("$(template)", HOLE) if template else text)
    except ParserError:
        if not template:
            raise
        run.note(f"{source}: a template that is no YAML; the way of its variables was not followed")
        return
    for root in roots:
        services = root.fields.get("services")
        if services is not None and services.fields:
            for name, service in list(services.fields.items())[:200]:
                _service(run, source, name, service)
        elif any(node.fields.get("script") for node in root.fields.values()):
            jobs.gitlab(run, source, root)
        elif "jobs" in root.fields:
            jobs.github(run, source, root)
        else:
            for pod in yaml_tree.pods(root):
                for kind in ("initContainers", "containers"):
                    for item in pod.fields[kind].items[:50] if kind in pod.fields else ():
                        _container(run, source, item)


def _service(run: Runs, source: str, name: str, service: Node) -> None:
    """A service of compose: env_file, then environment; ${…} is filled in from the shell that starts it."""
    sees = Sees(of_image(source, service.line))
    files = service.fields.get("env_file")
    for node in (files.items or [files]) if files else ():
        _compose_file(run, sees, node.fields.get("path", node).text, node.line, source)
    environment = service.fields.get("environment", NOTHING)
    pairs = [(key, value.text, value.line) for key, value in environment.fields.items()]
    for node in environment.items:
        key, sign, value = (node.text or "").partition("=")
        pairs.append((key, value if sign else None, node.line))
    for key, text, at in pairs:
        step = Step(source, at, f"environment: {key}" + ("" if text is None else f"={text[:60]}"))
        if text is None:
            sees.held[key] = tuple(a.after(step) for a in OUTER)
        else:
            sees.held[key] = tuple(a._replace(exported="yes", steps=(step,)) for a in _interpolated(text))
    command = [w for part in ("entrypoint", "command") for w in _command(service.fields.get(part))]
    frame = Frame(source, outside=True, where=f"service {name}")
    if command:
        filled = ["".join(a.text or HOLE for a in _interpolated(w)[:1]) for w in command]
        run.start(filled, sees, frame, service.line)
    else:
        run.record([f"(service {name})"], sees, frame, service.line)


def _compose_file(run: Runs, sees: Sees, path: str | None, line: int, source: str) -> None:
    found = run.look(path) if path and "$" not in path else None
    if found is None:
        step = Step(source, line, f"env_file {path}: file not found or not read")
        sees.may_have(step)
        return
    for number, text in enumerate(found[1].split("\n")[:4000], 1):
        made = _COMPOSE_LINE.fullmatch(text.rstrip("\r"))
        if made:
            value = made[2].strip()
            quoted = re.fullmatch(r"'([^']*)'|\"([^\"\\$]*)\"", value)
            plain = (quoted[1] or quoted[2] or "") if quoted else re.split(r"\s#", value, maxsplit=1)[0].strip()
            known = quoted or not re.search(r"[$\"'\\]", plain)
            sees.put(made[1], plain if known else HOLE, Step(found[0], number, f"env_file: {made[1]}"))


def _interpolated(text: str) -> Held:
    """Compose's `${NAME:-text}`: the text unless the caller has set NAME; `$$` is a dollar."""
    if "$" not in text:
        return (Alt(text),)
    whole = _COMPOSE.fullmatch(text)
    if whole and whole[3] and whole[4] in (":-", "-"):
        return (Alt(whole[5]), Alt(HOLE, "yes", when=whole[3])) if "$" not in whole[5] else (Alt(HOLE),)
    return (Alt(_COMPOSE.sub(lambda m: "$" if m[1] else HOLE, text)),)


def _command(node: Node | None) -> list[str]:
    if node is None:
        return []
    if node.text is None:
        return [item.text or "" for item in node.items]
    try:
        held = [token.word for token in Lexer(node.text).tokens() if not token.op]
    except ShellError:
        return [HOLE]
    return words.fields(held, Env(Sees(OUTER)))


def _container(run: Runs, source: str, node: Node) -> None:
    """A container of Kubernetes: envFrom, then env, in order; $(NAME) of those before."""
    sees = Sees(of_image(source, node.line))
    sees.may_be(Step(source, node.line, "an operator may set it"), *_BY_OPERATOR)
    for item in node.fields.get("envFrom", NOTHING).items:
        step = Step(source, item.line, "envFrom: a ConfigMap or Secret that the file does not hold")
        sees.base = joined(sees.base, (Alt(HOLE, "yes", (step,)),))
    for item in node.fields.get("env", NOTHING).items[:2000]:
        name, text = item.fields.get("name", NOTHING).text, item.fields.get("value", NOTHING).text
        if name is None:
            continue
        step = Step(source, item.line, f"env: {name}" + (f"={text[:60]}" if text is not None else ""))
        if "valueFrom" in item.fields:
            sees.put(name, HOLE, step._replace(what=f"env: {name} by valueFrom"))
        else:
            sees.put(name, _referred(text or "", sees), step)
    command = [*_command(node.fields.get("command")), *_command(node.fields.get("args"))]
    name = node.fields.get("name", NOTHING).text or ""
    frame = Frame(source, outside=True, where=f"container {name}".strip())
    if command and "command" in node.fields:
        run.start([_referred(w, sees) for w in command], sees, frame, node.line)
    else:
        run.record([f"(container {name})", *command], sees, frame, node.line)


def _referred(text: str, sees: Sees) -> str:
    def one(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        held = sees.held.get(found[2])
        return found[0] if held is None else held[0].text or ""

    return _KUBERNETES.sub(one, text)
