"""Names that are known, replaced wherever they are: in any case, glued to digits and signs, in a URL's encoding, in
base64.

>>> words = Words()
>>> words.add("okafor", "user-1a2b")
>>> words.replaced("OKAFOR run_okafor7 x%2Fokafor%2Fy b2thZm9y okaforian", lambda word: word)
'user-1a2b run_user-1a2b7 x%2Fuser-1a2b%2Fy user-1a2b okaforian'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from doctor.redaction.encoded import encoded, in_base64
from doctor.redaction.tally import MASK, Tally

_ANY_CASE = 5
"""Letters from which on a name is looked for in any case and beside digits: `Ada` and `ada` are two things."""
_SHORTEST_ENCODED = 8
_MOST = 4000


class Words:
    """Name → stand-in. To look for a thousand costs a search of the text for each; a pattern is made of those found."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}
        self._encoded: dict[str, str] = {}
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._hidden: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._stand_ins)

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._stand_ins

    def add(self, word: str, stand_in: str, *, hidden: bool = False) -> None:
        """A name; a `hidden` one is looked for within words, in any encoding, and may be of any length."""
        if len(self._stand_ins) >= _MOST and not hidden:
            return
        if hidden:
            self._hidden[word.lower()] = stand_in
            self._patterns.clear()
        self._stand_ins.setdefault(word.lower(), stand_in)
        for form in in_base64(word.encode("utf-8", "replace")):
            if len(form) >= _SHORTEST_ENCODED:
                self._encoded.setdefault(form, stand_in)

    def replaced(self, text: str, seen: Callable[[str], str]) -> str:
        """The text with the stand-ins; `seen` gets each."""
        low = text.lower()
        there = tuple(sorted((w for w in self._stand_ins if w in low), key=lambda w: (-len(w), w)))
        if there:
            text = self._pattern(there).sub(lambda m: seen(_of(self._stand_ins, m[0])), text)
        for form, stand_in in self._encoded.items():
            if form in text:
                text = re.sub(re.escape(form) + r"={0,2}", lambda _, word_for=stand_in: seen(word_for), text)  # type: ignore[misc]
        return self.without_hidden(text, seen) if self._hidden else text

    def without_hidden(self, text: str, seen: Callable[[str], str]) -> str:
        """The text without hidden words alone. An encoded run that holds one goes as a whole."""
        if any(word in text.lower() for word in self._hidden):
            words = tuple(sorted(self._hidden, key=lambda w: (-len(w), w)))
            text = self._pattern(words).sub(lambda m: seen(_of(self._hidden, m[0])), text)
        return encoded(text, Tally(), lambda inner: any(word in inner.lower() for word in self._hidden))

    def _pattern(self, words: tuple[str, ...]) -> re.Pattern[str]:
        if words not in self._patterns:
            if len(self._patterns) > 500:
                self._patterns.clear()
            forms: dict[tuple[bool, bool], list[str]] = {}
            for word in words:
                forms.setdefault((len(word) >= _ANY_CASE, word in self._hidden), []).append(word)
            self._patterns[words] = re.compile("|".join(_of_words(group, *kind) for kind, group in forms.items()))
        return self._patterns[words]


def _of(stand_ins: Mapping[str, str], found: str) -> str:
    """A pattern that knows no case takes `ſ` for an `s` and `ı` for an `i`; small letters alone do not."""
    return stand_ins.get(found.lower()) or stand_ins.get(found.casefold(), MASK)


def _of_words(words: list[str], long: bool, hidden: bool) -> str:
    """A pattern of many takes as long as one of few: it has the form of a tree."""
    if hidden and long:
        return f"(?i:{_tree(words)})"
    if long or hidden:  # a hidden one of three or four letters: `lab` is no part of `label`
        return rf"(?:(?<![A-Za-z])|(?<=%[0-9A-Fa-f]{{2}}))(?i:{_tree(words)})(?![A-Za-z])"
    plain = {form for word in words for form in ((word, word.upper()) if any(map(str.isdigit, word)) else (word,))}
    return rf"(?<![A-Za-z0-9]){_tree(plain)}(?![A-Za-z0-9])"


def _tree(words: Iterable[str]) -> str:
    """Words as one pattern, the longest first: `ab(?:c|de)?`."""
    words = list(words)
    if len(words) == 1:
        return re.escape(words[0])
    heads: dict[str, list[str]] = {}
    for word in words:
        heads.setdefault(word[:1], []).append(word[1:])
    ends = heads.pop("", None) is not None
    branches = [re.escape(head) + (_tree(rest) if rest != [""] else "") for head, rest in sorted(heads.items())]
    if not branches:
        return ""
    inner = "|".join(branches)
    return f"(?:{inner})?" if ends else inner if len(branches) == 1 else f"(?:{inner})"
