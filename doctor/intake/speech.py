"""Whether somebody speaks in a pasted text, beside what tools print.

Nothing rests on the words of a tool's output alone: they are the same on a machine in which nothing is wrong.

>>> speech = Speech()
>>> for line in ("# nvidia-smi finds no devices since yesterday", "Driver Version: 550.54"):
...     speech.hear(line)
>>> speech.asks
True
"""

from __future__ import annotations

import re

_IN_PASSING = 12
"""Lines: a complaint in passing."""
SAID_AT_LEAST = 3
"""Tools print a sentence or two themselves."""
_LINE_CHARACTERS = 400
_OF_A_TOOL = re.compile(
    r"\s{4}|\t|\s{0,3}(?:[|+=\[<{}]|# |\d\d:\d\d[:.]|\d{4}-\d\d|\*{2,}\W|[^:]{1,60}?\s{2,60}[:=]?\s|[^:]{1,60}:\s{2}"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )"
)
"""Rows of tables and trees, stamps of logs, aligned settings, comments: a tool's words, not a person's."""
_MARKDOWN = ("```", "### ", "## ", "<details")
_LABEL = re.compile(r"\s{0,3}(?:[-*>#] ?){0,2}[^:\n]{1,40}: ")
_MARKUP = re.compile(r"\s*(?:[=*#-]{20,}\s*$|<(?:\?xml|!--|!DOCTYPE|(?!details)[a-z_]{3,30}[ >]))")
"""How documents of tools begin: XML, or a rule across the page."""
_PLAIN = re.compile(r"[A-Za-z][a-z']*[.,;:!?]?")
_BETWEEN = re.compile(
    "(?:the|an?|is|are|was|were|i|we|its?|my|our|th(?:is|at|ese|en|an|ere)|with(?:out)?|when|after|but|and|(?:in)?to|of|in|on"
    "|not?|do(?:es)?|can(?:not)?|only|same|from|for|work(?:s|ed)?|fail(?:s|ed)?|still|any|both|ha[sd]|have|as|at|by|or|if"
    "|so|while|been?|gets?|got|instead)$"
)
"""Words that sentences are made with; tools print lists, names and numbers."""
_NUMBER = re.compile(r"\d+")
_COMPLAINT = re.compile(
    r"\b(?:abort|although\b|blocked|break|broken|bug\b|can'?t\b|cannot|conflict|corrupt|could ?n[o']t|crash|denied"
    r"|despite|disappear|do(?:es)?n'?t\b|drop|empty\b|err\b|errors?\b|fail|falls? back|falling back|fatal\b"
    r"|fell back|freez"
    r"|(?:available\W{1,6}|[a-z]s |got |get |still |only )\W?false\b"
    r"|froze|garbage|h[au]ng|ignore|instead\b|invalid|killed|los[et]s?\b|mismatch|missing|nan\b|never|not\b|nothing|only\b"
    r"|problem|refus|reject|segfault|segmentation|slow|stop|stuck|throttl|timed out|timeout|trouble|unable|undefined"
    r"|unknown|unsupported|vanish|without|won'?t\b|worse|wrong|\w{1,20}(?:Error|n't)\b|no\b)",
    re.IGNORECASE,
)
_SHORT = 8
"""Lines; of a longer text three are asked for."""
_LITTLE_WORDS = re.compile(
    r"\b(?:a|after|all|and|as|at|but|by|cannot|does|for|from|has|have|i|in|is|it|its|me|my|no|not|of|on|only|or|our|so|still"
    r"|than|that|the|then|there|this|to|was|we|when|while|with|without)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 7
_TYPED = re.compile(r"[A-Za-z][A-Za-z ]{1,24}: \S")
_TYPED_AT_MOST = 6
"""Lines: `GPU: Strix Halo`, `Kernel: 6.14` and nothing else is what somebody typed to ask about; tools print more."""
_OF_ONESELF = re.compile(
    r"\bI(?:'m|'ve|'d|'ll)? [a-z']{2,30}[ ,.]|\b[Ii]'(?:m|ve)\b|\b(?:[Mm]y|[Oo]ur) [a-z]{3}"
    r"|\b[Ww]e (?:have|had|are|were|use|run|ran|get|got|see|saw|found|can|tried|just|do|need|want)\b"
    r"|\bi (?:am|can|cant|did|do|dont|get|got|had|have|installed|just|know|need|think|tried|try|use|want|was)\b"
    r"|(?i:^\W{0,3}(?:hi|hello|hey)\b|\bthank(?:s| you)\b|\bany (?:ideas?|help)\b|\bhelp me\b|\bhow (?:do|can|to)\b"
    r"|\bwhy (?:is|does|do|are)\b|\bwhat(?:'s| is| am| could) )"
)
"""Who speaks of oneself, greets or asks. `I tensorflow/core` and `W0101` are levels of a log."""
_TITLE = re.compile(
    r"\W{0,3}(?i:(?:bug|issue|problem|question) ?:"
    r"|\[(?:bug|build|doc|enh|feature|help|install|issue|kernel|misc|performance|problem|question|rfc|usage)"
    r"[a-z ]{0,16}\])"
)
_ASKS = re.compile(r"[a-z)`'\"] ?\?{1,3}\s{0,9}$")
_LEAST_ASKED = 4
"""Words of a question, and of a title."""
_COMPLAINT_ELSEWHERE = re.compile(
    "错误|報錯|报错|失败|失敗|无法|不能|不了|崩溃|卡[住死在]|问题|找不到|没有|未能|异常|不支持|不兼容|阻塞|慢|掉线|无响应"
    "|エラー|できな|動かな|ません|クラッシュ|遅い|오류|실패|안 ?됩|없습니다|느"
)
"""The same in Chinese, Japanese and Korean."""
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_LEAST_IDEOGRAPHS = 6
_IDEOGRAPHS_SHARE = 5
"""One character of so many of the line; a column of a table is less."""


class Speech:
    """Made for one text. Hears its lines in order, the empty ones left out."""

    def __init__(self) -> None:
        self.said = 0
        """Lines in which somebody speaks, each once: what is printed again and again is a tool's."""
        self.held = self._prose = self._typed = 0
        """Lines that hold anything, and whole sentences and labelled words among them."""
        self._heard: set[str] = set()
        self._markup = self._person = self._titled = self._complained = False
        """`_markup`: a text that is an XML document from its first line on holds a tool's comments."""

    def hear(self, line: str) -> None:
        """One line that is not empty."""
        line = line[:_LINE_CHARACTERS]
        if not self.held:
            self._markup = _MARKUP.match(line) is not None
            self._titled = _is_title(line)
        self.held += 1
        self._prose += self.held < _SHORT and _is_prose(line)
        self._typed += self.held <= _TYPED_AT_MOST and _TYPED.match(line) is not None
        self._person = self._person or _is_persons(line)
        self._complained = self._complained or _is_complaint(line)
        if self.said < SAID_AT_LEAST and (said := _said(line)):
            told = _NUMBER.sub("#", line)
            if told not in self._heard:
                self._heard.add(told)
                self.said += said

    @property
    def complains(self) -> bool:
        """Whether a line beside what tools print in rows says that something is amiss."""
        return self._complained

    @property
    def may(self) -> bool:
        """Whether somebody may speak here: sentences, or so few lines that one of them may be all that was said."""
        return self.said >= SAID_AT_LEAST or self.held <= _IN_PASSING

    @property
    def does(self) -> bool:
        """Whether somebody does speak: sentences, or one in so few lines that no tool's output is around it, or a few
        labels that somebody filled in."""
        if 0 < self.held == self._typed:
            return True
        return not self._markup and self.said >= (1 if self.held <= _IN_PASSING else SAID_AT_LEAST)

    @property
    def asks(self) -> bool:
        """Whether this is somebody's report and no tool's output alone: a person's sentence or title, or
        sentences. Of a few lines most may be whole sentences, or all be somebody's."""
        if self._markup:
            return False
        short = self._prose * 2 > self.held or (self._prose > 0 and self.said == self.held)
        titled = self._titled and self.held > 1 and (self.said > 0 or self.held <= _IN_PASSING)
        return self._person or self.said >= SAID_AT_LEAST or short or titled


def _is_title(line: str) -> bool:
    """A first line of words, half of them plain ones, as issues have: no label, stamp or row of a tool."""
    heading = line.startswith("# ")
    if (
        not (heading or line[:1].isalpha())
        or (_OF_A_TOOL.match(line) and not heading)
        or (": " in line and not heading)
    ):
        return False
    words = [word.strip(".,;:!?()#") for word in line.split()]
    plain = [word for word in words if _PLAIN.fullmatch(word)]
    return len(words) >= _LEAST_ASKED and len(plain) * 2 >= len(words)


def _is_complaint(line: str) -> bool:
    """What fails, is missing, wrong or slow."""
    if _OF_A_TOOL.match(line) and not line.startswith("# ") and not _TITLE.match(line):
        return False
    return _COMPLAINT.search(line) is not None or _COMPLAINT_ELSEWHERE.search(line) is not None


def _is_persons(line: str) -> bool:
    """A line that only somebody who reports writes: of oneself, a question, a title's mark, or in a script that tools
    do not print."""
    if _TITLE.match(line):
        return True
    if _OF_A_TOOL.match(line):
        return False
    asks = len(line.split()) >= _LEAST_ASKED and _ASKS.search(line) is not None
    foreign = len(_IDEOGRAPHS.findall(line))
    foreign = foreign >= _LEAST_IDEOGRAPHS and foreign * _IDEOGRAPHS_SHARE >= len(line)
    return asks or foreign or _OF_ONESELF.search(line) is not None


def _is_prose(line: str) -> bool:
    """Whether it is a whole sentence: seven words, three of them (or a third) the little ones that join others."""
    words = len(re.findall(r"[A-Za-z']+", line))
    if words < _LEAST_WORDS or _OF_A_TOOL.match(line):
        return False
    little = len(_LITTLE_WORDS.findall(line))
    return little >= 3 or little * 3 >= words


def _said(line: str) -> int:
    """1 for a sentence, or a labelled complaint (`Observed: cuInit fails with 999`); enough for the marks of Markdown,
    which only people set."""
    if line.startswith(_MARKDOWN):
        return SAID_AT_LEAST
    if _OF_A_TOOL.match(line):
        return 0
    label = _LABEL.match(line)
    words = (line[label.end() :] if label else line).split()
    plain = [word for word in words if _PLAIN.fullmatch(word)]
    between = {low for word in plain if _BETWEEN.match(low := word.lower().rstrip(".,;:!?"))}
    if len(words) >= 4 and len(between) >= 2 and len(plain) * 2 >= len(words):
        return 1
    terse = len(words) >= 5 and between and len(plain) * 5 >= len(words) * 4
    if terse and not _NUMBER.search(line) and ":" not in line:
        return 1
    return int(label is not None and len(plain) * 3 >= len(words) * 2 > 2 and _COMPLAINT.search(line) is not None)
