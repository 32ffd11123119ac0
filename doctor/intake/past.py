"""Lines of a pasted text in which no error of the past stands: `I used to get X, fixed now` tells of no trouble.

Only what is said plainly counts: of one clause, of the paste that it announces (`this was the error before I
upgraded:`), or of the paste that it follows. A cure that did not last, or of another clause, takes nothing away.

>>> [text for _, text in without([(1, "I used to get CUDA error 999, but now CUDA error 802")])]
[', but now CUDA error 802']
>>> [text for _, text in without([(1, "CUDA error 802"), (2, "This was the error before I upgraded the driver.")])]
['', '']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

LINES_LIMIT = 1200
"""Lines of a text that are looked at: people speak at its start."""
_LINE_CHARACTERS = 600
_BLOCK_LINES = 200
"""Lines of a paste that a sentence before or after it may speak of."""
_HINT = re.compile(
    r"used to |fixed|solved|\bgone\b|went away|no longer|any ?more|now works"
    r"|before (?:i|we|the|upgrad|updat|reinstall|switch)",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"(?<=[.;!?])\s+|,?\s+(?:but|however|although|though)\s+(?=\S)"
    r"|,?\s+(?:next|then|afterwards):?\s+"
    r"|,?\s+(?:and )?now\s+"
    r"(?!(?:it |that |this |all )?(?:is |has been |been )?(?:fixed|solved|resolved|gone|works?|fine))",
    re.IGNORECASE,
)
_TROUBLE = r"(?:errors?|problems?|issues?|messages?|warnings?|crash(?:es)?|hangs?|tracebacks?|exceptions?|failures?)"
_SOLVED = re.compile(
    r"\b(?:is|are|was|were|got|been|now|already|finally|it's|that's|since)(?: (?:now|been|already|finally|since|all))?"
    r" (?:fixed|solved|resolved)\b(?! (?:in|size|point|seed|length|shape|to)\b)"
    r"|\b(?:fixed|solved|resolved) (?:now|already|meanwhile)\b"
    rf"|\b{_TROUBLE}(?: (?:is|are|was|were|has|have))?(?: now| since)? (?:gone|went away)\b"
    rf"|\bno longer (?:get (?:it|that|this|the)\b.{{0,20}}{_TROUBLE}|happens?|occurs?|crash(?:es)?|fails?)\b"
    r"|\b(?:does|do|did)(?: not|n['’]t) (?:happen|occur) any ?more\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\bused to (?:get|fail|crash|throw|hit|run into|complain|hang"
    rf"|(?:see|show|print|give) (?:\S{{1,20}} ){{0,3}}{_TROUBLE})\b"
    r"|\b(?<!never )(?<!not )(?<!n't )(?:was|were|got|had|saw|gave|failed|crashed|printed|complained)\b.{0,200}?"
    r"\bbefore (?:(?:i|we) (?:upgraded|updated|reinstalled|switched|changed|moved|fixed)"
    r"|(?:the )?(?:upgrade|update|reinstall|fix|switch)\b|(?:upgrad|updat|reinstall|switch)ing)",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:still|again|came back|comes back|returned|keeps?)\b|\?"
    r"|\b(?:not|never|should|supposed|could|can|will|would|must|needs?|how|if|when|until|unless|hope|to|be)"
    r" (?:\w{1,12} ){0,2}(?:fixed|solved|resolved|gone)\b|n't (?:\w{1,12} ){0,2}(?:fixed|solved|resolved|gone)\b"
    r"|\b(?:fixed|solved|resolved|gone|occurs?|happens?)\b.{0,24}?\b(?:by|with|via|after|when|once|using|if|under|through)\b",
    re.IGNORECASE,
)
"""Also what a cure is told of: it names the cause, as `solved by --group-add` does."""
_NOT_OVER = re.compile(r"\b(?:work(?:ed|ing)|fine|well|okay?|healthy|already|never|not|no)\b|n't\b", re.IGNORECASE)
"""`It was fine before I upgraded` and `was not there before` tell of trouble now."""
_AND_THEN = re.compile(r"\b(?:after|since|too|also|even|then)\b", re.IGNORECASE)
_QUOTED = re.compile(r"`[^`\n]{0,300}`|\"[^\"\n]{0,300}\"|(?<!\w)'[^'\n]{0,300}'(?!\w)")
_REFERS = re.compile(
    r"\W{0,4}(?:(?:edit|update)\s?\d?:? )?(?:this|that|these|those|it|the (?:above|error)|all)\b", re.IGNORECASE
)
_FENCE = ("```", "~~~", "<pre", "</pre")

Line = tuple[int, str]


def without(lines: Iterable[Line]) -> Iterator[Line]:
    """The same lines in order; what is past is left out of the first of them, and a line of nothing else is empty."""
    lines = iter(lines)
    yield from _looked_at(islice(lines, LINES_LIMIT))
    yield from lines


def _looked_at(lines: Iterable[Line]) -> Iterator[Line]:
    held: list[Line] = []
    announced = False
    for block in _blocks(lines):
        spoken = [text for _, text in block if text.strip()]
        if held and spoken and _REFERS.match(spoken[0]) and _is_past(spoken[0]):
            held = _emptied(held)
        yield from held
        held = _emptied(block) if announced and spoken else _told(block)
        announced = announced if not spoken else spoken[-1].rstrip().endswith(":") and _is_past(spoken[-1])
    yield from held


def _told(block: list[Line]) -> list[Line]:
    """The block without the clauses that are past, and without the lines around one that speaks of them."""
    hinted = [place for place, (_, text) in enumerate(block) if len(text) <= _LINE_CHARACTERS and _HINT.search(text)]
    if not hinted:
        return block
    told = list(block)
    for place in hinted:
        text = block[place][1]
        if not _is_past(text):
            for clause in _CLAUSES.split(text):
                text = text.replace(clause, "", 1) if _is_past(clause) else text
            told[place] = (told[place][0], text)
            continue
        around = range(place, place + 1)
        if text.rstrip().endswith(":"):
            around = range(place, len(block))
        elif _REFERS.match(text):
            around = range(place + 1)
        for other in around:
            told[other] = (told[other][0], "")
    return told


def _is_past(text: str) -> bool:
    """Whether all of a text is said to be over: one clause is enough only where the text is that clause."""
    if len(text) > _LINE_CHARACTERS or not _HINT.search(text):
        return False
    clauses = [clause for clause in _CLAUSES.split(text.strip()) if clause.strip()]
    return bool(clauses) and all(_clause_is_past(clause) for clause in clauses)


def _clause_is_past(clause: str) -> bool:
    spoken = _QUOTED.sub("X", clause)
    if _NOT_SO.search(spoken):
        return False
    if _SOLVED.search(spoken):
        return True
    over = _OVER.search(spoken)
    return over is not None and not _NOT_OVER.search(over[0]) and not _AND_THEN.search(spoken, over.end())


def _emptied(block: list[Line]) -> list[Line]:
    return [(number, "") for number, _ in block]


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Paragraphs, each with the empty lines after it, and fenced pastes."""
    block: list[Line] = []
    ended = inside = False
    for row in lines:
        start = row[1].lstrip()
        fence, empty = start.startswith(_FENCE) and "```" not in start.lstrip("`"), not start
        opens = fence and not inside
        if block and (opens or (ended and not empty) or len(block) >= _BLOCK_LINES):
            yield block
            block, ended = [], False
        block.append(row)
        inside = inside != fence
        ended = not inside and (ended or empty or fence)
    if block:
        yield block
