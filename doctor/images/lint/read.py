"""Text of a file -> its faults; of which kind it is, its content says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from doctor.errors import InputError, ParserError
from doctor.flags.ignored import marked
from doctor.images.lint import compose_file, docker_file, flags, pod
from doctor.images.lint.model import Fault
from doctor.parsers.container import dockerfile_instructions as dockerfile
from doctor.parsers.container import yaml_tree


def lint(text: str, name: str, opened: Callable[[str], str | None] = lambda _: None) -> list[Fault]:
    """In the order of the lines. `# doctor: ignore RULE reason` on a fault's line, or alone above it, marks it.
    `opened` gives the text of a file in the build context, None where there is none. Raises InputError where the text
    is none of these."""
    marks, _ = marked(text.splitlines(), name)
    return [replace(f, ignored=f.rule in marks.get(f.line, ())) for f in _faults(text, name, opened)]


def _faults(text: str, name: str, opened: Callable[[str], str | None]) -> list[Fault]:
    first: ParserError | None = None
    if not name.endswith((".yml", ".yaml")):
        try:
            faults = docker_file.faults(dockerfile.read(text), opened)
            wrong = {(f.line, f.text.partition("=")[0]): f for f in flags.wrong(name, text, "dockerfile")}
            kept = (f for f in faults if (f.line, f.text.partition("=")[0]) not in wrong)
            return sorted({*kept, *flags.lost(name, text), *wrong.values()})
        except ParserError as error:
            first = error
    try:
        return sorted({*_of_yaml(text, opened), *flags.wrong(name, text, "yaml")})
    except ParserError as error:
        what = "neither a Dockerfile, a compose file nor a Kubernetes manifest"
        raise InputError(f"{name}: {what}: {first or error}") from error


def _of_yaml(text: str, opened: Callable[[str], str | None]) -> Iterator[Fault]:
    roots = yaml_tree.roots(text)
    services = [root.at("services") for root in roots if root.at("services").fields]
    pods = [pod for root in roots for pod in yaml_tree.pods(root)]
    if not services and not pods:
        raise ParserError("no services and no containers in the text")
    for service in services:
        yield from compose_file.faults(service, opened)
    for each in pods:
        yield from pod.faults(each)
