"""What people tell of in a text, beside what programs print: a sentence may ask for a thing, wish for it or say that it
was meant, and then it tells of no trouble."""

from __future__ import annotations

import re

from doctor.facts.snapshot import Snapshot

_TOLD = re.compile(r"-(?:told|said|inline|helps|helped|works|void)$|-told-|^helped-by-")
"""Ids of signatures that read what people say, and no output of a program."""
_ASKS = re.compile(
    r"^\W*(?:(?:question|usage|q)\W+)?(?:is|are|does|do|did|can|could|should|would|will|may|which|what"
    r"|how (?:do|to|can|should|much|many|long|would)|any (?:plans?|chance|way))\b[^?]*\?$",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"\b(?:on purpose|by (?:choice|design)|deliberate(?:ly)?|intentional(?:ly)?|as (?:intended|documented)"
    r"|feature request|would be nice)\b",
    re.IGNORECASE,
)
_LONG_AGO = re.compile(
    r"\b(?:previously|formerly|in the past|(?:some )?(?:weeks|months|years) ago|last (?:week|month|year)|long ago)\b",
    re.IGNORECASE,
)
_MENDED = re.compile(r"\b(?:solved|fixed|cured|repaired|resolved|went away|never again|not since)\b", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.;?!](?=\s)")
_HELPED = (
    r"(?<![\w/:=-])(?:works?|worked|working|solve[sd]|fixe[sd]|fix|helps?|helped|resolve[sd]?|cure[sd]?|fine|runs"
    r"|runs on|succeeds?|disappears?|gone|stable|fast|correct|recogni[sz]ed|detected"
    r"|(?:models?|it|tests?|training|program) (?:now )?(?:loads?|passes|goes through)|avoids it)\b(?![/:=-]\w)"
)
"""Not as a part of a name: an image of stable-diffusion, a script for fine-tuning."""
HELPED_BY = (
    r"^(?!.*(?:\bnot (?:help|work|fix|solve|change)|n['’]t (?:help|work|fix|solve|change)"
    r"|no (?:effect|difference|change|luck)|\bstill\b)).*?"
    rf"(?:{_HELPED}(?:[^\n.]|\.(?! )){{0,20}}?\b(?:with|by|after|when|once|using|if|under|through)\b[^\n]{{0,32}}?@"
    rf"|\bwith[^\n]{{0,30}}?@[^\n]{{0,60}}?{_HELPED}"
    rf"|@[^\n]{{0,50}}?(?:{_HELPED}|makes? it|does not reproduce|not? longer (?:fails|hangs|crashes)))"
)
"""How people say that a remedy (`@`) helped; not where the line says that something did not."""
_NO_TROUBLE = (
    *("user-error-", "helped-by-", "all-works-told-of-server", "persistence-", "mig-mentioned", "selinux-enforcing"),
    *("engine-with-own-kernels", "program-with-own-cuda-code", "rocm-torch-told-on-nvidia", "prompt-of-container"),
    *("jax-lists-gpu", "tensorflow-lists-gpu", "ngc-image-of-pytorch", "rocminfo-finds-account-in-group"),
    *("nvidia-wheels-come-along", "gpu-library-of-", "paddle-built-with-", "nccl-uses-gdrdma", "net-path-with-gdr"),
    *("secure-boot-said-on", "device-choice-helps", "hip-program-on-nvidia", "inline-assignment-works"),
)
"""How ids begin that speak of no trouble of the machine, though they do not end as mentions do."""
_TROUBLE_SAID = (
    *("gpu-not-seen-said", "gpu-idle-said", "values-wrong-said", "cuda-999-said", "gpu-library-not-found-said"),
    *("insufficient-permissions-said", "rocm-tool-lists-none-said"),
)
"""Of what people say, that which is trouble itself: a remedy that helped, or a part that is not there, is none yet."""


def is_told(key: str) -> bool:
    """Whether a signature reads what people say, by its id."""
    return _TOLD.search(key) is not None


def beside_the_point(text: str, end: int) -> bool:
    """Whether the sentence of a line in which a match ends (at `end`) only asks, wishes or says that it was meant."""
    stops = [stop.end() for stop in _SENTENCE_ENDS.finditer(text)]
    start = max((stop for stop in stops if stop < end), default=0)
    stop = min((stop for stop in stops if stop >= end), default=len(text))
    sentence = text[start:stop].strip()
    return bool(_ASKS.match(sentence) or _MEANT.search(sentence))


def of_the_past(text: str, end: int) -> bool:
    """Whether a line tells that what ends at `end` was long ago and has been mended since."""
    return _LONG_AGO.search(text) is not None and _MENDED.search(text, end) is not None


def trouble(machine: Snapshot, key: str) -> bool:
    """Whether another symptom than this one tells of trouble."""
    return any(s.key != key and not s.mention and _is_trouble(s.key) for s in machine.symptoms)


def _is_trouble(key: str) -> bool:
    return key in _TROUBLE_SAID or not (is_told(key) or key.startswith(_NO_TROUBLE))
