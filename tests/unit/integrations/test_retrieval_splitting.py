"""Long texts become parts of a bounded size, and nothing of them is lost."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise import Document, split_document, split_text
from turnwise.errors import InvalidRequestError


def test_paragraphs_stay_whole_and_are_packed_as_they_fit() -> None:
    text = "First one.\n\nSecond one.\n\n\nThird one, which is longer."

    assert split_text(text, size=30, overlap=0) == ["First one.\n\nSecond one.", "Third one, which is longer."]


def test_a_long_paragraph_is_cut_after_a_sentence() -> None:
    text = "The first sentence ends here. The second one is cut off from it. The third one is last."

    parts = split_text(text, size=50, overlap=0)

    assert parts == ["The first sentence ends here.", "The second one is cut off from it.", "The third one is last."]


def test_chinese_and_japanese_sentences_end_without_a_space() -> None:
    text = "退款需要五天。「手续费不退。」返金は五日後です！"

    assert split_text(text, size=10, overlap=0) == ["退款需要五天。", "「手续费不退。」", "返金は五日後です！"]


def test_a_sentence_whose_mark_has_no_place_begins_the_next_part() -> None:
    text = "退款需要五天。手续费不退。好。"

    assert split_text(text, size=12, overlap=0) == ["退款需要五天。", "手续费不退。好。"]


def test_a_part_begins_with_the_last_chinese_characters_of_the_one_before() -> None:
    text = "".join(f"第{number}条规定，退款需要五个工作日才能到达您的银行卡。" for number in range(100, 130))

    parts = split_text(text, size=120, overlap=40)

    for before, after in itertools.pairwise(parts):
        assert before.endswith("。")
        assert text.index(before) + len(before) - text.index(after) == 40


def test_long_runs_of_blanks_are_read_once() -> None:
    assert split_text(f"a{' ' * 100_000}b{(' ' * 1_000 + chr(10)) * 500}c", 10, 0) == ["a", "b", "c"]


def test_a_long_sentence_is_cut_between_words_and_a_long_word_anywhere() -> None:
    assert split_text("one two three four five six", size=10, overlap=0) == ["one two", "three four", "five six"]
    assert split_text("x" * 25, size=10, overlap=0) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_part_begins_with_the_last_words_of_the_one_before() -> None:
    text = " ".join(f"word{number}" for number in range(40))

    parts = split_text(text, size=60, overlap=20)

    for before, after in itertools.pairwise(parts):
        shared = next(length for length in range(20, 0, -1) if before.endswith(after[:length]))
        assert re.fullmatch(r"word\d+( word\d+)*", after[:shared].strip())


@pytest.mark.parametrize("text", ["", "  \n\n \t "])
def test_a_blank_text_has_no_parts(text: str) -> None:
    assert split_text(text) == []


@given(text=st.text(alphabet=st.sampled_from("ab .!?\n\té\u3002\u300d\u9000"), max_size=400), size=st.integers(1, 60))
def test_parts_without_overlap_are_the_text_without_some_white_space(text: str, size: int) -> None:
    parts = split_text(text, size, overlap=0)

    assert all(0 < len(part) <= size and part in text and part == part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(
    ends=st.lists(st.sampled_from([" ", ". ", "\n", "\n\n", " \n \n\n"]), max_size=60),
    size=st.integers(20, 60),
    share=st.floats(0, 0.5),
)
def test_parts_with_overlap_hold_every_word_whole_and_in_order(ends: list[str], size: int, share: float) -> None:
    text = "".join(f"w{number}{end}" for number, end in enumerate(ends))

    parts = split_text(text, size, overlap=int(size * share))

    assert all(0 < len(part) <= size and part in text for part in parts)
    numbers = [[int(number) for number in re.findall(r"w(\d+)", part)] for part in parts]
    assert sorted({number for part in numbers for number in part}) == list(range(len(ends)))
    for before, after in itertools.pairwise(numbers):
        assert before[0] < after[0] <= before[-1] + 1
        assert after[-1] > before[-1]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (100, -1), (100, 51)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidRequestError, match=f"size={size}, overlap={overlap}"):
        split_text("text", size, overlap)


def test_a_part_of_a_document_says_what_it_is_a_part_of() -> None:
    document = Document(id="guide.md", text="One.\n\nTwo.", metadata={"source": "guide.md", "lang": "en"})

    first, second = split_document(document, size=6, overlap=0)

    assert (first.id, first.text) == ("guide.md#0", "One.")
    assert second.metadata == {"source": "guide.md", "lang": "en", "document": "guide.md", "part": 1}


def test_parts_of_a_document_with_an_id_of_any_length_can_be_added() -> None:
    first, second = (split_document(Document(id="x" * 499 + end, text="One.")) for end in "ab")

    assert first[0].id != second[0].id
    assert first[0].metadata["document"] == "x" * 499 + "a"
