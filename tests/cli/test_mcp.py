"""The MCP server, spoken to by the SDK's own client over stdin and stdout."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import pytest

from doctor.cli.mcp import answer, serve

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the extra mcp is not installed")


async def _session(calls: list[tuple[str, dict[str, Any]]]) -> tuple[list[Any], list[Any]]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "doctor", "mcp"])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as client:
        await client.initialize()
        tools = (await client.list_tools()).tools
        return list(tools), [await client.call_tool(name, given) for name, given in calls]


def served(*calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    return asyncio.run(asyncio.wait_for(_session(list(calls)), 120))


TEXT = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("triage", {"text": TEXT}),
    ("check", {}),
    ("facts", {}),
    ("explain", {"rule": "nvidia-driver-too-old"}),
    ("env", {"text": "export NCCL_P2P_DISABLE=yes\n", "name": "job.sh"}),
    ("solve", {"packages": ["torch"], "gpu": "gfx942", "python": "3.12"}),
    ("image_lint", {"text": "FROM python:3.12\nENV NVIDIA_VISIBLE_DEVICES=void\n"}),
]
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("explain", {"rule": "no-such"}),
    ("check", {"profile": "../../x"}),
    ("solve", {"packages": [], "gpu": "gfx942"}),
    ("solve", {"packages": ["torch"], "gpu": "no-such-gpu"}),
    ("image_lint", {"text": "{]"}),
    ("env", {}),
]
UNKNOWN: list[tuple[str, dict[str, Any]]] = [("check", {"root": "/srv/other"}), ("triage", {"text": "x", "file": "y"})]


@pytest.fixture(scope="module")
def session() -> tuple[list[Any], list[Any]]:
    """The tools, and the answers to all of these calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the SDK's own, when its transports are closed
        return served(*ASKED, *WRONG, *UNKNOWN)


def test_tools_that_change_nothing_answer_as_the_commands_do(session: tuple[list[Any], list[Any]]) -> None:
    tools, answers = session
    triage, check, facts, explain, env, solve, lint = answers[: len(ASKED)]
    assert {tool.name for tool in tools} == {"check", "triage", "explain", "env", "facts", "solve", "image_lint"}
    assert all(tool.annotations.read_only_hint and not tool.annotations.destructive_hint for tool in tools)
    told = json.loads(triage.content[0].text)
    assert told["findings"][0]["rule"] == "nvidia-driver-too-old"
    assert "snapshot" not in told
    assert "## Fix" in explain.content[0].text
    assert json.loads(check.content[0].text)["schema"] == "doctor.report/2"
    assert "kernel" in json.loads(facts.content[0].text)
    assert json.loads(env.content[0].text)["environments"][0]["source"] == "job.sh"
    assert json.loads(solve.content[0].text)["schema"] == "doctor.solution/1"
    assert json.loads(lint.content[0].text)["schema"] == "doctor.image-lint/1"


def test_each_tool_says_what_each_of_its_arguments_is(session: tuple[list[Any], list[Any]]) -> None:
    tools, _ = session
    for tool in tools:
        assert tool.description
        for name, of in tool.input_schema.get("properties", {}).items():
            assert of["description"], (tool.name, name)
            assert "type" in of
    required = {tool.name: tool.input_schema.get("required", []) for tool in tools}
    assert required["solve"] == ["packages", "gpu"]
    assert required["image_lint"] == required["env"] == ["text"]


def test_wrong_arguments_are_answered_as_errors(session: tuple[list[Any], list[Any]]) -> None:
    rule, profile, *others = session[1][len(ASKED) : -len(UNKNOWN)]
    assert all(said.is_error and "Traceback" not in said.content[0].text for said in others)
    assert rule.is_error
    assert "no rule" in rule.content[0].text
    assert profile.is_error


def test_an_argument_that_a_tool_does_not_know_is_an_error_and_no_check_of_this_machine(
    session: tuple[list[Any], list[Any]],
) -> None:
    tools, answers = session
    root, text = answers[-len(UNKNOWN) :]
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    assert root.is_error
    assert root.content[0].text == "check: unknown argument 'root'; it takes profile"
    assert text.is_error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_waits_for_its_client_can_be_ended(number: int) -> None:
    server = subprocess.Popen([sys.executable, "-m", "doctor", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin
    assert server.stdout
    server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
    server.stdin.flush()
    server.stdout.readline()
    server.send_signal(number)
    try:
        assert server.wait(20) == 130
    finally:
        server.kill()
        server.communicate()


def test_a_client_that_asks_for_a_newer_protocol_falls_back() -> None:
    from mcp import StdioServerParameters
    from mcp.client.client import Client
    from mcp.client.stdio import stdio_client

    async def asked() -> tuple[str, bool]:
        server = StdioServerParameters(command=sys.executable, args=["-m", "doctor", "mcp"])
        async with Client(stdio_client(server)) as client:
            answers = await client.call_tool("explain", {"rule": "no-gpu-found"})
            return client.protocol_version, bool(answers.is_error)

    assert asyncio.run(asyncio.wait_for(asked(), 60)) == ("2025-11-25", False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{]", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"id": 1}', -32600),
        ('{"id": [1], "method": "ping"}', -32600),
        ('{"id": 1, "method": "resources/list"}', -32601),
        ('{"id": 1, "method": "tools/list", "params": []}', -32602),
        ('{"id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        ('{"id": 1, "method": "tools/call", "params": {"name": ["rm"]}}', -32602),
    ],
)
def test_what_is_no_request_is_an_error_and_the_next_one_is_answered(line: str, code: int) -> None:
    out = io.BytesIO()
    given = f'{line}\n\n{{"method": "notifications/initialized"}}\n{{"id": "a", "method": "ping"}}\n'
    serve(io.BytesIO(given.encode()), out)
    answers = [json.loads(row) for row in out.getvalue().splitlines()]
    assert sorted(row["error"]["code"] for row in answers if "error" in row) == [code]
    assert [row["result"] for row in answers if row["id"] == "a"] == [{}]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("triage", {}, "triage: text: missing"),
        ("triage", {"text": 1}, 'triage: text: expected "string"'),
        ("solve", {"packages": "torch", "gpu": "x"}, 'solve: packages: expected "array"'),
        ("facts", {"a": 1}, "facts: unknown argument 'a'; it takes none"),
        ("explain", [], "explain: arguments: expected an object"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(name: str, given: Any, message: str) -> None:
    response = answer({"id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}})
    assert response["result"] == {"content": [{"type": "text", "text": message}], "isError": True}
