"""The table of words and causes, and the shares that it gives."""

import json
import runpy
from pathlib import Path

import pytest

from doctor.knowledge.wording import DATA, HEALTHY, Wording, shared, symptom_word, words_of

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "weigh_words.py"))
TABLE = Wording(
    {"causes": ["none", "a", "b"], "base": [0.0, 0.0, 0.0], "words": {"one": [2.0, 1, 3.0], "two": [1.0, 2, 3.0]}}
)


def test_words_are_lower_case_with_numbers_hidden_and_in_pairs() -> None:
    assert list(words_of("Torch 2.4.1 crash")) == ["torch", "#", "crash", "torch #", "# crash"]


def test_endings_are_left_out_and_joined_words_are_taken_apart() -> None:
    assert list(words_of("fails failed failing")) == ["fail", "fail", "fail", "fail fail", "fail fail"]
    assert list(words_of("nvidia-container-toolkits")) == ["nvidia-container-toolkit", "nvidia", "container", "toolkit"]


def test_lines_of_a_table_are_no_words() -> None:
    assert list(words_of("--------- --gpus ---")) == ["--gpu"]


def test_a_long_line_gives_a_bounded_number_of_words() -> None:
    assert len(list(words_of("word " * 5000))) <= 80
    assert len(list(words_of("one-two-three-four-five-six-seven " * 5000))) <= 400


def test_the_rarer_word_weighs_more() -> None:
    first = TABLE.like({"one", "two"})[0]
    assert (first.cause, first.words) == ("a", ("one",))
    assert 0.5 < first.share < 1


def test_a_known_error_text_counts_and_is_not_shown_as_a_word() -> None:
    held = {"one": [2.0, 1, 3.0], symptom_word("gpu-lost"): [4.0, 2, 3.0]}
    table = Wording({"causes": ["none", "a", "b"], "base": [0.0, 0.0, 0.0], "words": held})
    assert [table.like(words)[0].cause for words in ({"one"}, {"one", symptom_word("gpu-lost")})] == ["a", "b"]
    assert table.like({"one", symptom_word("gpu-lost")})[0].words == ()


def test_unknown_words_say_nothing() -> None:
    assert TABLE.like({"three"}) == []


def test_shares_are_of_all_causes() -> None:
    assert sum(like.share for like in TABLE.like({"one"})) == pytest.approx(1)


def test_the_shipped_table_says_where_it_is_from_and_names_rules_only() -> None:
    table = json.loads(Path(DATA).read_text("utf-8"))
    assert "public threads" in table["source"]
    assert table["as_of"]
    rules = {path.stem.replace("_", "-") for path in (DATA.parents[2] / "rules").rglob("*.py")}
    folders = {path.name.replace("_", "-") for path in (DATA.parents[2] / "rules").rglob("*") if path.is_dir()}
    assert set(shared().causes) - {HEALTHY} <= rules | folders
    assert len(shared().causes) == len(shared().base)


def test_the_shipped_table_was_made_from_the_shipped_tickets() -> None:
    assert json.loads(DATA.read_text("utf-8"))["tickets"] == SCRIPT["digest"]([SCRIPT["TICKETS"]])


@pytest.mark.slow
def test_the_tickets_give_the_shipped_table_again() -> None:
    pytest.importorskip("sklearn", reason="the table is made with scikit-learn")
    made, shipped = SCRIPT["table"]([SCRIPT["TICKETS"]]), json.loads(DATA.read_text("utf-8"))
    assert {k: v for k, v in made.items() if k != "as_of"} == {k: v for k, v in shipped.items() if k != "as_of"}
