"""What a script computes from texts that are known: arithmetic, tests, patterns, `$(dirname …)`, `printf`.

Every answer is exact, or it is None: nothing is guessed.

>>> arithmetic("N * 2 + (1 << 2)", {"N": "3"}.get), arithmetic("N / 2", lambda _: None)
(10, None)
>>> holds(["8", "-ge", "4"]), holds(["-n", HOLE])
(True, None)
"""

from __future__ import annotations

import ast
import fnmatch
import operator
import posixpath
import re
from collections.abc import Callable, Sequence

from doctor.parsers.text.shell_lexer import HOLE, Word

_LONGEST = 400
_NAMED = re.compile(r"\$?\{?([A-Za-z_]\w{0,127})\}?")
_BINARY: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_COMPARED = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
_FORMAT = re.compile(r"%(?:(%)|([sdi]))|\\(?:([nt\\\"'])|.)|%")
_CONTROL = {"n": "\n", "t": "\t"}


def arithmetic(text: str, of: Callable[[str], str | None]) -> int | None:
    """The value of `$((text))`; `of` has the text of a variable. None also where C and Python differ in what binds."""
    try:
        if len(text) > _LONGEST or re.search(rf"{HOLE}|\*\*|#|!(?!=)|~", text):
            return None
        text = _NAMED.sub(r"\1", text).replace("&&", " and ").replace("||", " or ")
        return int(_value(ast.parse(text.strip(), mode="eval").body, of))
    except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError, KeyError):
        return None


def _value(node: ast.AST, of: Callable[[str], str | None]) -> int:
    """Raises ValueError or KeyError for what is not known."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        found = re.fullmatch(r"-?(?:0|[1-9]\d{0,17})", of(node.id) or "")
        return int(found[0]) if found else int("")
    if isinstance(node, ast.UnaryOp):
        return (-1 if isinstance(node.op, ast.USub) else 1) * _value(node.operand, of)
    if isinstance(node, ast.BoolOp):
        held = [_value(each, of) for each in node.values]
        return int(all(held) if isinstance(node.op, ast.And) else any(held))
    sign: type[ast.AST]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, sign, right = node.left, type(node.ops[0]), node.comparators[0]
    elif isinstance(node, ast.BinOp):
        left, sign, right = node.left, type(node.op), node.right
    else:
        raise ValueError
    one, two = _value(left, of), _value(right, of)
    if sign in (ast.LShift, ast.RShift) and not 0 <= two < 64:
        raise ValueError
    if sign in (ast.Div, ast.Mod):
        whole = abs(one) // abs(two) * (1 if (one < 0) == (two < 0) else -1)
        return whole if sign is ast.Div else one - whole * two
    made = int(_BINARY[sign](one, two))
    if abs(made) >= 1 << 63:
        raise ValueError
    return made


def pattern(word: Word, text_of: Callable[[Word], str]) -> str | None:
    """A pattern of the shell as fnmatch has it; what is quoted stands for itself."""
    made = ""
    for part in word.parts:
        text = text_of(word._replace(parts=(part,)))
        literal = part.quoted or part.kind != "text"
        if HOLE in text or (not literal and re.search(r"\(|\[[!^]|\[:", text)):
            return None
        made += re.sub(r"([*?\[])", r"[\1]", text) if literal else text
    return made if len(made) < _LONGEST else None


def matches(text: str, wanted: str | None) -> bool | None:
    """Whether a text that is known matches a pattern that is."""
    return None if wanted is None or HOLE in text or len(text) > 4000 else fnmatch.fnmatchcase(text, wanted)


def holds(
    argv: Sequence[str], patterns: Sequence[str | None] = (), there: Callable[[str], bool] = lambda _: False
) -> bool | None:
    """`[ argv ]`, or `[[ argv ]]`, whose right sides are then patterns. `there`: a file is known to exist."""
    for sign, stops in (("||", True), ("&&", False)) if patterns else (("-o", True), ("-a", False)):
        if sign in argv[1:]:
            at = argv.index(sign, 1)
            first = holds(argv[:at], patterns[:at], there)
            rest = holds(argv[at + 1 :], patterns[at + 1 :], there)
            return stops if stops in (first, rest) else (not stops) if first is rest is (not stops) else None
    if argv[:1] == ["!"]:
        inner = holds(argv[1:], patterns[1:], there)
        return None if inner is None else not inner
    if len(argv) == 2 and argv[0] in ("-n", "-z"):
        full = bool(argv[1].replace(HOLE, "")) or (None if argv[1] else False)
        return None if full is None else full is (argv[0] == "-n")
    if len(argv) == 2 and argv[0] in ("-e", "-f", "-r", "-s"):
        return there(argv[1]) or None
    if len(argv) == 1:
        return holds(["-n", *argv])
    if len(argv) != 3:
        return None if argv else False
    one, sign, two = argv
    if sign in ("=", "==", "!="):
        same = matches(one, patterns[2]) if patterns else None if HOLE in one + two else one == two
        return None if same is None else same is (sign != "!=")
    if sign in _COMPARED and all(re.fullmatch(r"-?\d{1,18}", text) for text in (one, two)):
        return bool(arithmetic(f"{int(one)} {_COMPARED[sign]} {int(two)}", lambda _: None))
    return None


def formatted(argv: Sequence[str]) -> str:
    """What `printf FORMAT …` prints; a hole where the format is a rare one."""
    left = list(argv[1:])
    made, known = "", bool(argv)

    def one(found: re.Match[str]) -> str:
        nonlocal known
        if found[2]:
            given = left.pop(0) if left else "" if found[2] == "s" else "0"
            known &= found[2] == "s" or re.fullmatch(r"0|-?[1-9]\d{0,8}", given) is not None
            return given
        known &= bool(found[1] or found[3])
        return found[1] or _CONTROL.get(found[3] or "", found[3] or "")

    while known and len(made) < 20_000:
        before = len(left)
        made += _FORMAT.sub(one, argv[0])
        if not left or len(left) == before:
            break
    return made if known else HOLE


def printed(argv: Sequence[str]) -> str:
    """What a command that only computes prints; a hole for any other."""
    head, rest = argv[0] if argv else "", list(argv[1:])
    plain = [word for word in rest if not word.startswith("-")]
    if head == "echo" and rest[:1] not in (["-e"], ["-E"]):
        return " ".join(rest[1:]) if rest[:1] == ["-n"] else " ".join(rest) + "\n"
    if head == "printf" and rest[:1] != ["-v"]:
        return formatted(rest)
    if head == "dirname" and len(plain) == 1 and plain[0] != HOLE:
        return posixpath.dirname(plain[0]) or "."
    if head == "basename" and len(plain) in (1, 2) and not plain[0].endswith("/") and rest == plain:
        name = posixpath.basename(plain[0])
        return name.removesuffix(plain[1]) if len(plain) == 2 and name != plain[1] else name
    if head in ("realpath", "readlink") and len(plain) == 1 and (head == "realpath" or len(rest) > 1):
        return plain[0]
    if head == "expr" and rest:
        made = arithmetic(" ".join(rest), lambda _: None)
        return HOLE if made is None else str(made)
    if head == "seq":
        return _sequence(rest)
    return HOLE


def _sequence(argv: Sequence[str]) -> str:
    found = re.fullmatch(r"(?:-s ?(\S) )?(?:(-?\d{1,6}) )?(?:(-?\d{1,6}) )?(-?\d{1,6})", " ".join(argv))
    if not found:
        return HOLE
    first, step, last = int(found[2] or 1), int(found[3] or 1), int(found[4])
    listed = range(first, last + (1 if step > 0 else -1), step)[:1001] if step else []
    return (found[1] or "\n").join(map(str, listed)) if 0 < len(listed) <= 1000 else HOLE
