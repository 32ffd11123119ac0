"""What a profile extends is put together, rows by what they speak of; every fault names file, line, key and remedy."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.engine import allow
from doctor.errors import DataFileError, InputError
from doctor.profiles import folder, load, names
from doctor.profiles.compose import compose, find
from doctor.profiles.pairs import faults as stack_faults
from doctor.profiles.pairs import former_names, pairs
from doctor.profiles.reading import parse

EXPECT = """[[expect]]
fact = "host.iommu"
equals = "{}"
why = "w"
source = {{ url = "https://example.org/a", as_of = 2026-01-01, status = "community" }}
"""
SOURCE = 'source = {{ url = "u", as_of = 2026-01-01, status = "community" }}\n'
NEED = '[[need]]\nkind = "cap"\nvalue = "{}"\nwhy = "w"\n' + SOURCE
HEAD = 'schema = 1\nname = "p"\nabout = "a"\nstatus = "community"\n'


def write(folder_: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder_ / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder_ / "p.toml"


def faults(path: Path) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        load(str(path))
    assert caught.value.path == str(path)
    return list(caught.value.faults)


def test_later_parts_and_the_file_itself_win(tmp_path: Path) -> None:
    extends = 'extends = ["a/one", "a/two"]\n'
    one = EXPECT.format("off") + '[hardware]\nvendor = "amd"\narch = ["gfx942"]\n'
    path = write(tmp_path, p=HEAD + extends + "[hardware]\ncount = 8\n", a__one=one, a__two=EXPECT.format("translated"))
    profile = load(str(path))
    assert [e.equals for e in profile.expect] == ["translated"]
    assert (profile.hardware.vendor, profile.hardware.arch, profile.hardware.count) == ("amd", ("gfx942",), 8)


def test_a_user_s_profile_extends_the_shipped_ones(tmp_path: Path) -> None:
    extends = 'extends = ["boards/mi300x", "stacks/rocm7.2"]\n'
    profile = load(str(write(tmp_path, p=HEAD + extends + EXPECT.format("off"))))
    assert next(e for e in profile.expect if e.fact == "host.iommu" and not e.when).equals == "off"
    assert profile.hardware.pci_ids[0] == "1002:74a1"


def test_several_capabilities_stand_beside_each_other(tmp_path: Path) -> None:
    profile = load(str(write(tmp_path, p=HEAD + NEED.format("SYS_PTRACE") + NEED.format("IPC_LOCK"))))
    assert [n.value for n in profile.need] == ["SYS_PTRACE", "IPC_LOCK"]


def test_all_faults_at_once_each_with_its_line_and_what_is_right(tmp_path: Path) -> None:
    text = 'schema = 2\nname = "p"\nabot = "a"\nstatus = "community"\n\n[[expect]]\nfact = "host.iomu"\n'
    found = faults(write(tmp_path, p=text + 'equals = 1\nwhy = "w"\nrule = "iommu"\n'))
    assert found == [
        'line 1: about: is missing; right would be "MI300X nodes with ROCm 7.2"',
        "line 1: schema: is 2; expected 1; right would be 1",
        "line 3: abot: is not a key of a profile; did you mean about?",
        "line 6: expect[1].source: is missing; right would be "
        '{ url = "https://…", as_of = 2026-05-29, status = "vendor-matrix" }',
        "line 7: expect[1].fact: 'host.iomu' is not a fact that can be compared; did you mean host.iommu?",
        "line 10: expect[1].rule: 'iommu' is not a rule; `doctor rules` lists them",
    ]


def test_faults_between_keys_are_told_beside_those_of_single_keys(tmp_path: Path) -> None:
    text = '[[expect]]\nfact = "gpus[*].memory_bytes"\nat_least = "192 GiB"\nwhy = 1\n'
    text += '[[need]]\nkind = "shm"\nvalue = "8 GB"\n'
    assert faults(write(tmp_path, p=HEAD + text)) == [
        "line 5: expect[1]: gpus[*].memory_bytes is a whole number; '192 GiB' can't be compared with it",
        "line 5: expect[1].source: is missing; right would be "
        '{ url = "https://…", as_of = 2026-05-29, status = "vendor-matrix" }',
        'line 8: expect[1].why: is 1; expected text; right would be "one line that says why"',
        "line 9: need[1]: shm can't be '8 GB'; expected a size such as 8G",
        "line 9: need[1].source: is missing; right would be "
        '{ url = "https://…", as_of = 2026-05-29, status = "vendor-matrix" }',
        'line 9: need[1].why: is missing; right would be "one line that says why"',
    ]


def test_a_fault_of_a_part_names_the_part(tmp_path: Path) -> None:
    path = write(tmp_path, p=HEAD + 'extends = ["a/one"]\n', a__one="\n\n" + EXPECT.format("on"))
    assert faults(path) == [
        "in a/one.toml line 3: expect[1]: host.iommu is one of off, passthrough, translated; it can't be 'on'"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('fact = "gpus[*].arh"\nequals = "x"', "'gpus[*].arh' is not a fact"),
        ('fact = "gpus[*].links[*].kind"\nequals = "x"', "'gpus[*].links[*].kind' is not a fact"),
        ('fact = "host.numa_balancing"\nequals = "0"', "host.numa_balancing is a whole number; it can't be '0'"),
        ('fact = "host.wsl"\nequals = 0', "host.wsl is true or false; it can't be '0'"),
        ('fact = "torch.version"\nat_least = 2.9', "torch.version is text; 2.9 can't be compared with it"),
        ('fact = "torch.version"\nseries = "new"', "series: 'new' is not a version"),
        ('fact = "torch.version"', "exactly one of equals, one_of, at_least"),
        ('fact = "os.id"\nequals = "a"\nseries = "1"', "there are 2"),
        ('fact = "os.id"\none_of = []', "one_of is empty"),
        ('fact = "os.id"\nequals = "a"\nwhen = { fact = "host.vm", equals = true }', "'host.vm' is not a fact"),
        ('fact = "os.id"\nequals = "a"\nrule = "numa-balancing"', "did you mean numa-balancing-enabled?"),
        ('fact = "os.id"\nequals = "a"\nseverity = "fatal"', '"fatal"; expected \'error\', \'warning\' or \'info\''),
    ],
)  # fmt: skip
def test_what_an_expectation_can_t_be(tmp_path: Path, line: str, said: str) -> None:
    (found,) = faults(write(tmp_path, p=f'{HEAD}\n[[expect]]\n{line}\nwhy = "w"\n{SOURCE.format()}'))
    assert said in found
    assert re.match(r"line (6|[7-9]|1\d): expect\[1\]", found), found


HOSTILE = ("a\\nb", 'a\\"b', "$(reboot)", "a;b", "`id`", "a\\\\b", "a\\u202eb", "a&&b", "a|b", "a'b")
FLAG = '[[flag]]\nname = "{name}"\nvalue = "{value}"\nkind = "workload"\nwhy = "w"\n' + SOURCE
PIP = '[image]\n[[image.pip]]\nname = "{name}"\nversion = "{value}"\nwhy = "w"\n' + SOURCE


@pytest.mark.parametrize("bad", HOSTILE)
@pytest.mark.parametrize("where", [FLAG, PIP])
def test_hostile_names_and_values_are_refused(tmp_path: Path, bad: str, where: str) -> None:
    if not (where is FLAG and bad == "a;b"):  # LS_COLORS and the like: inert, since it is never given to a shell
        assert faults(write(tmp_path, p=HEAD + where.format(name="NAME", value=bad)))
    assert faults(write(tmp_path, p=HEAD + where.format(name=bad, value="1.0")))


@pytest.mark.parametrize("value", ["ALL", "SYS_ADMIN", "SYS_MODULE"])
def test_no_profile_asks_for_what_is_as_good_as_privileged(tmp_path: Path, value: str) -> None:
    assert "as good as privileged" in faults(write(tmp_path, p=HEAD + NEED.format(value)))[0]


def test_parts_that_are_not_there_circles_and_ways_out(tmp_path: Path) -> None:
    (missing,) = faults(write(tmp_path, p=HEAD + 'extends = ["boards/mi300"]\n'))
    assert missing.startswith("line 5: extends[1]: there is no part 'boards/mi300' beside the file")
    assert missing.endswith("did you mean boards/mi300x?")
    assert "'../x'" in faults(write(tmp_path, p=HEAD + 'extends = ["../x"]\n'))[0]
    circle = write(tmp_path, p=HEAD + 'extends = ["p"]\n')
    with pytest.raises(DataFileError, match="circle"):
        load(str(circle))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 100_000, "not TOML: nested too deeply"),
        ("a = " + "{a=" * 100_000, "not TOML: nested too deeply"),
        ("[" + ".".join("a" * 200_000) + "]", "a key of more than 100 steps"),
        (".".join("a" * 200_000) + " = 1", "a key of more than 100 steps"),
    ],
)
def test_toml_that_would_cost_minutes_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    assert faults(path) == [said]
    with pytest.raises(DataFileError, match=said):
        allow.load(path)


BOARD = 'about = "Card"\n[hardware]\nvendor = "amd"\narch = ["gfx942"]\n'
STACK = 'about = "ours"\n[[for]]\nboards = ["card"]\nstatus = "community"\n'
ON = '[[on.{}.flag]]\nname = "A"\nvalue = "{}"\nkind = "workload"\nwhy = "w"\n' + SOURCE


def test_a_board_and_a_stack_are_a_profile(tmp_path: Path) -> None:
    board = BOARD + EXPECT.format("off")
    write(tmp_path, boards__card=board, stacks__rocm7=STACK + EXPECT.format("translated"))
    assert names(tmp_path) == ("card+rocm7",)
    profile = load("card+rocm7", tmp_path)
    assert (profile.name, profile.about, profile.status) == ("card+rocm7", "Card with ours", "community")
    assert [e.equals for e in profile.expect] == ["translated"], "the stack is over the board"
    assert load("card-rocm7", tmp_path) == profile, "as it was called before"


@pytest.mark.parametrize(
    ("key", "stack", "held"),
    [
        ("rocm7", "rocm7", ["1"]), ("rocm", "rocm7", ["1"]), ("vllm", "rocm7+vllm", ["1"]),
        ("serve", "rocm7+vllm", ["1"]), ("rocm", "rocky7", []), ('"rocm7.2"', "rocm7", []), ("train", "rocm7+vllm", []),
    ],
)  # fmt: skip
def test_what_a_board_adds_on_some_stacks(tmp_path: Path, key: str, stack: str, held: list[str]) -> None:
    """By the stack's whole name or a part of it, with or without its version, or by its workload."""
    workload = 'workload = "serve"\n' if "vllm" in stack else ""
    write(tmp_path, **{"boards__card": BOARD + ON.format(key, 1), f"stacks__{stack}": workload + STACK})
    assert [flag.value for flag in load(f"card+{stack}", tmp_path).flag] == held


def test_who_extends_a_board_and_a_stack_wins_over_both(tmp_path: Path) -> None:
    own = HEAD + 'extends = ["boards/card", "stacks/rocm7"]\n' + ON.format("x", 2).replace("on.x.", "")
    path = write(tmp_path, p=own, boards__card=BOARD + ON.format("rocm", 1), stacks__rocm7=STACK)
    assert [flag.value for flag in load(str(path)).flag] == ["2"]


def test_a_fault_of_what_a_board_adds_names_its_place(tmp_path: Path) -> None:
    write(tmp_path, boards__card=BOARD + ON.format("rocm", 1).replace('"workload"', '"always"'), stacks__rocm7=STACK)
    with pytest.raises(DataFileError, match=r"in boards/card.toml line \d+: on.rocm.flag\[1\].kind: is the text"):
        load("card+rocm7", tmp_path)


def test_a_status_is_not_handed_on_and_says_what_it_rests_on(tmp_path: Path) -> None:
    path = write(tmp_path, p='schema = 1\nname = "p"\nabout = "a"\nextends = ["h100+cuda13.2"]\n')
    assert "status: is missing" in faults(path)[0]
    assert load("h100+cuda13.2").status == "resolved"
    assert (
        "evidence = { url = …, as_of = … } is missing"
        in faults(write(tmp_path, p=HEAD.replace("community", "built")))[0]
    )


def test_stacks_that_name_no_board_are_reported(tmp_path: Path) -> None:
    write(
        tmp_path, boards__card=BOARD, stacks__a=STACK.replace("card", "crad"), stacks__b="for = 1\n", stacks__c="a = "
    )
    write(tmp_path, stacks__d=STACK + "why = 1\n", stacks__e="[[for]]\n")
    assert [(path.stem, text[:40]) for path, text in stack_faults(tmp_path)] == [
        ("a", "for[1].boards: there is no boards/crad.t"),
        ("b", "for: expected [[for]] with boards and st"),
        ("c", f"{tmp_path / 'stacks/c.toml'}: not TOML"[:40]),
        ("d", "for[1].why: is not a key here; expected "),
        ("e", "for[1].boards: expected the boards that "),
    ]
    assert names(tmp_path) == ("card+d",)


def test_every_former_name_is_that_of_one_profile() -> None:
    former = former_names(folder())
    claimed = [
        f"{pair.board}-{old}" for pair in pairs(folder()).values() for old in parse(pair.file).get("formerly", ())
    ]
    assert len(set(claimed)) == len(claimed)
    assert former["h100-vllm0.32"] == former["h100-cuda13.0-serve"] == "h100+cuda13.0+vllm"
    assert former["mi300x-rocm7.14-train"] == "mi300x+rocm7.14+train"
    assert not set(former) & set(names(folder()))


def test_no_toml_a_folder_and_an_unknown_name(tmp_path: Path) -> None:
    assert faults(write(tmp_path, p="schema = \n"))[0].startswith("not TOML: ")
    with pytest.raises(InputError, match="no file"):
        load(str(tmp_path))
    with pytest.raises(InputError, match=r"did you mean h100\+cuda13\.2, "):
        load("h100-cuda13.3")
    with pytest.raises(InputError, match=r"did you mean h100\+cuda13\.0, h100\+cuda13\.2, "):
        load("h100")
    with pytest.raises(InputError, match=r"did you mean \w+\+cuda13\.0\+vllm, "):
        load("vllm")


def test_the_name_is_that_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, p=HEAD.replace('"p"', '"q"'))
    assert load(str(path)).name == "q"  # named by its path
    with pytest.raises(DataFileError, match="the file is called 'p'"):
        load("p", tmp_path)


def keys(table: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key of a table."""
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        here = (*at, key)
        if isinstance(key, str):
            yield here
        if isinstance(value, (dict, list)):
            yield from keys(value, here)


def toml(value: Any) -> str:
    """A value as TOML; tables inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


SHIPPED = sorted(p for p in folder().rglob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: str(p.relative_to(folder())))
def test_each_key_broken_in_turn_is_refused_by_name(path: Path, tmp_path: Path) -> None:
    """Every key of every shipped file, in turn made a table of nonsense: the fault names that key and its line."""
    table = {key: value for key, value in parse(path).items() if key not in ("extends", "for", "formerly", "on")}
    whole = {"schema": 1, "name": "p", "about": "a", "status": "community", **table, "name": "p"}  # noqa: F601
    for key in keys(whole):
        broken: Any = _copied(whole)
        holder = broken
        for step in key[:-1]:
            holder = holder[step]
        holder[key[-1]] = {"nonsense": 1}
        copy = tmp_path / "p.toml"
        copy.write_text("".join(f"{k} = {toml(v)}\n" for k, v in broken.items()))
        found = faults(copy)
        called = "".join(f"[{s + 1}]" if isinstance(s, int) else f".{s}" for s in key).lstrip(".")
        line = list(broken).index(key[0]) + 1
        assert any(
            f.startswith(f"line {line}: {called}") or f.startswith(f"line {line}: {_row(key)}") for f in found
        ), (
            called,
            found,
        )


def _row(key: tuple[Any, ...]) -> str:
    """The row that a key is in: what is wrong between two keys of a row is told of the row."""
    cut = max((n for n, s in enumerate(key) if isinstance(s, int)), default=-1)
    return "".join(f"[{s + 1}]" if isinstance(s, int) else f".{s}" for s in key[: cut + 1]).lstrip(".") or "-"


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


def test_lines_of_a_part_are_those_of_the_part() -> None:
    composed = compose(find("mi300x+rocm7.2", folder()), (folder(),))
    number = next(n for n, e in enumerate(composed.table["expect"]) if e["fact"] == "host.numa_balancing")
    path, own = composed.locate(("expect", number, "why"), folder() / "stacks/rocm7.2.toml")
    assert path == folder() / "host/amd-instinct.toml"
    assert own[0] == "expect"
    assert len(names(folder())) > 60


WHOLE = "".join(
    (folder() / f"{part}.toml").read_text().partition("\n\n")[2] + "\n"
    for part in ("boards/mi300x", "workload/amd-train", "torch/rocm7.14")
)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file_is_refused_or_read_and_nothing_else(seed: int, tmp_path: Path) -> None:
    """Lines taken out, doubled, swapped and cut; bytes changed; values of one key given to another."""
    chance = random.Random(seed)
    rows = (HEAD + WHOLE).splitlines()
    for _ in range(chance.randint(1, 6)):
        at, other = chance.randrange(len(rows)), chance.randrange(len(rows))
        match chance.randrange(5):
            case 0:
                del rows[at]
            case 1:
                rows.insert(other, rows[at])
            case 2:
                rows[at], rows[other] = rows[other], rows[at]
            case 3:
                rows[at] = rows[at].partition("=")[0] + "=" + rows[other].partition("=")[2]
            case _:
                rows[at] = rows[at][: chance.randrange(len(rows[at]) + 1)] + chr(chance.randrange(1, 0x2FFF))
    path = tmp_path / "p.toml"
    path.write_text("\n".join(rows), encoding="utf-8")
    said = ""
    try:
        load(str(path))
    except InputError as error:
        said = str(error)
    assert "\n" not in said
