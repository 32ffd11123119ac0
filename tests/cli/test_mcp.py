"""The MCP server, spoken to by the SDK's own client over stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")


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


@pytest.mark.filterwarnings("default")  # the SDK's own, when its transports are closed
def test_four_tools_that_change_nothing_answer_as_the_commands_do() -> None:
    text = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
    calls: list[tuple[str, dict[str, Any]]] = [("triage", {"text": text}), ("check", {}), ("env", {})]
    calls.append(("explain", {"rule": "nvidia-driver-too-old"}))
    tools, (triage, check, env, explain) = served(*calls)
    assert {tool.name for tool in tools} == {"check", "triage", "explain", "env"}
    assert all(tool.annotations.read_only_hint and not tool.annotations.destructive_hint for tool in tools)
    told = json.loads(triage.content[0].text)
    assert told["findings"][0]["rule"] == "nvidia-driver-too-old"
    assert "snapshot" not in told
    assert "## Fix" in explain.content[0].text
    assert json.loads(check.content[0].text)["schema"] == "doctor.report/1"
    assert "kernel" in json.loads(env.content[0].text)


@pytest.mark.filterwarnings("default")
def test_wrong_arguments_are_answered_as_errors() -> None:
    _, (rule, profile) = served(("explain", {"rule": "no-such"}), ("check", {"profile": "../../etc/passwd"}))
    assert rule.is_error
    assert "no rule" in rule.content[0].text
    assert profile.is_error
