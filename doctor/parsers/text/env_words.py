"""What somebody tells of a variable where its value would stand: `points to /opt/rocm`, `1 makes it crash`."""

from __future__ import annotations

import re

_PROGRAM = re.compile(
    r"(?:python[\d.]{0,4}|torchrun|vllm|sglang|ollama|accelerate|deepspeed|bash|sh|mpirun|mpiexec|srun|sudo|env|exec|uv|"
    r"trl|swift|axolotl|llamafactory-cli|lmdeploy|lm_eval|jupyter|ray|trtllm-\w{1,20}|docker|node|llama[\w-]{0,20}|rocminfo|rocm-smi|nvidia-smi|hipcc|nohup|time|export|[~.]{0,2}/\S{1,200}|[A-Z][A-Z0-9_]{2,80}=\S{0,200})$"
)
"""What follows an assignment that holds for one command only."""
_WITH_OPTION = re.compile(r"\d[\d,]{0,80} [a-z][\w.+-]{1,60}(?: [a-z][\w-]{1,30})? --?[A-Za-z]")
"""Behind a list of numbers: a program of any name, with an option, that of a command of its own included."""
_TOGETHER = (
    r"(?:with|and|plus|together with|alone|on its own) "
    r"(?:(?!\b(?:not|no|never|still|nothing|but)\b|n['’]t\b)[^.;\n]){0,60}"
    r"\b(?:works|worked|helps|helped|fixe[sd]|(?:re)?solve[sd]|avoids|is fine|runs fine)"
)
"""`with --other-option works`, `and NAME=2 fixed it`."""
_TRIED = re.compile(
    r"\S{1,80},? (?:also |always |it )?(?:avoids?|fix(?:es|ed)|help(?:s|ed)?|work(?:s|ed)|makes?|made|solve[sd]|"
    r"cure[sd]|gives?|lets?|complete[sd]?|restore[sd]?|is (?:fine|right|ok)|runs (?:fine|well)|" + _TOGETHER + r")\b"
)
"""A remark on a value that was tried and helped: the run that fails is without it."""
_HELPED = re.compile(
    r"\S{1,80},? (?:also |always |it |completely |fully )?(?:avoids?|fix(?:es|ed)|help(?:s|ed)?|work(?:s|ed)|cure[sd]|"
    r"(?:re)?solve[sd]|mitigate[sd]|prevent(?:s|ed)|restore[sd]|is (?:fine|right|ok)|runs (?:fine|well)|"
    r"(?:makes?|made|lets?) (?:\w{1,20} ){1,3}(?:works?|runs?|starts?|succeeds?|pass|complete|visible|fine)|"
    r"(?:is |was )(?:needed|required) to|" + _TOGETHER + r")\b"
)
"""The same behind `export`, where people report failing values as often."""
_REMARK = re.compile(
    r"([^\s\"'`]{1,200}?)[,;:]?\s{1,3}(?:\(|(?:in|is|was|set|exported|for|from|on|at|but|and|or|with|without|under|as|before"
    r"|after|only|also|still|does|did|inside|where|when|while|because|which|via|alone|instead|too|not|no|has|had|have"
    r"|uses?|used|makes?|made|changes?|changed|gives?|gave|causes?|caused|leads?|led|takes?|took|hides?|hid|shows?|showed"
    r"|selects?|selected|picks?|leaves?|left|breaks?|broke|needs?|must|should|would|will|can|cannot|could|that|than)\b)"
)
"""A sentence goes on behind the value: `NAME=1 in ~/.bashrc`, `NAME=1 makes no difference`."""
_DESCRIBED = re.compile(
    r"(?:an?|the|as|at|both|changed|confirmed|contains?|correct(?:ly)?|default|defined|differs?|different|does|doesn['’]t|"
    r"each|exported|forwarded|from|has|had|hides?|holds|includes?|inherited|is|injected|lacks?|left|lists?|looks|masked|"
    r"names?|only|overridden|overwritten|passed|point(?:s|ed|ing)?|properly|removed?|same|several|set|some|still|taken|to|"
    r"tried|various|was|with|without|wrong|(?:re)?starts|selects?|shows)\s{1,3}[(\w/$~]"
)
"""A sentence stands where the value would: `points to the toolkit`, `set on one node only`."""
_SEVERAL = re.compile(r"[\w.:-]{1,40}(?:, [\w.:-]{1,40}){1,8},? (?:and|or) [\w.:-]{1,40},? [a-z]")
"""Values that were tried in turn: `10.3.0, 11.0.0 and 11.0.2 crash`."""
_GOES_ON = re.compile(r"[^\s\"'`;&|#]{1,200},?\s{1,3}\(?[a-z]{2,20}['’]?\b(?!=)")
"""Behind a value of `export` a word that no shell takes for a name: so it is prose."""
_LACKING = re.compile(
    r"(?:is |was )?(?:(?:not|never) (?:set|exported|defined|passed|present|inherited)|unset|undefined|missing|absent)"
    r"(?=[\s,;.)]|$)",
    re.IGNORECASE,
)
"""In place of a value: `not exported`, `unset in the service`."""
_POINTS_TO = re.compile(
    r"(?:is |was )?(?:set|points?|pointing|pointed|leads?|left) (?:to|at) [\"'`]?((?:/|[A-Za-z]:\\)[^\s\"'`]{1,300})",
    re.IGNORECASE,
)
"""In place of a value: `points to /usr/local/cuda-11.8, which is gone`."""
_UNSET = re.compile(
    r"\W?(?:(?:is|was|left) )?(?:un ?set|not (?:set|defined|given)|undefined|removed|missing|absent)\b(?! to\b)"
    r"(?![=\w/-])",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"[\"'(<]?(?:(?:(?:is|was|gets|set|reset|left|defined) ){0,2}(?:to |as )?(?:an? |the )?(?:empty|blank)"
    r"(?: string| value| list)?|cleared|emptied|blanked)(?![\w=/-])(?! (?:and|or|vs)\b)",
    re.IGNORECASE,
)
_SET_TO = re.compile(r"(?:(?:is|was|both|all) )?set to [\"'`]?([\w.,:/+-]{1,200})", re.IGNORECASE)
_OPTIONS = re.compile(r"\w{1,60}:[\w.]{1,40}(?:(?:, |,? and )\w{1,60}:[\w.]{1,40}){1,20}")
_LIST = re.compile(r"\d{1,3}(?:(?:, {0,2}|,? and )\d{1,3}){0,63}(?:, | and |, and )\d{1,3}(?![\w.])")


def value(name: str, text: str, how: str) -> str | None:
    """The value that words describe: `set to 0`, `an empty string`, `0 and 1` of a list of GPUs, `points to /opt/rocm`.
    None for no value, or several. Other text stays as it is. `how`: `export ` or ""."""
    phrase = text.strip(" \t`(<")
    if _UNSET.match(phrase) or _LACKING.match(phrase):
        return None
    if _EMPTY.match(phrase):
        return ""
    if found := _POINTS_TO.match(phrase):
        return found[1].rstrip(",;")
    if found := _SET_TO.match(phrase):
        return found[1]
    if name.endswith("_VISIBLE_DEVICES") and (listed := _LIST.match(phrase)):
        return ",".join(re.findall(r"\d{1,3}", listed[0]))
    if name.endswith("_ALLOC_CONF") and (listed := _OPTIONS.match(phrase)):
        return ",".join(re.findall(r"\w{1,60}:[\w.]{1,40}", listed[0]))
    if _SEVERAL.match(phrase) or _DESCRIBED.match(phrase) or (how and _HELPED.match(phrase)):
        return None
    if how and _GOES_ON.match(phrase) and not for_one_command(phrase):
        return before(phrase) or phrase.split()[0].rstrip(",")
    return text


def before(text: str) -> str | None:
    """What is before a sentence that goes on behind it; None where none does."""
    found = _REMARK.match(text)
    return found[1].rstrip(",;") if found else None


def tried(text: str) -> bool:
    """Whether somebody tried the value and it helped."""
    return _TRIED.match(text) is not None


def for_one_command(value: str) -> bool:
    """`0 python x.py`, `1 OTHER=2 ./run`, `1; export OTHER=2`: the line is typed, the value ends at the first space."""
    words = value[:400].split()
    if len(words) < 2 or re.fullmatch(r"[\w.,:/+-]{0,200};?", words[0]) is None:
        return False
    return _PROGRAM.match(words[1]) is not None or _WITH_OPTION.match(" ".join(words[:4])) is not None
