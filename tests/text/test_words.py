"""Segmentation: what is one word, what is cut, and that no character is ever lost."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.text.words import MAX_WORD, detect_script, segment

# Characters that meet in the rules: letters, digits, joiners, clitics, marks, emoji, several scripts, odd white space.
ODD = (
    "aZnts09.,:;/-_'’\"@#%$&()!?*=+~ \t\n\u00a0\u3000éßאבعमनि中の々ー한"
    "\u0301\u200b\u200c\u200d\u200f\u00ad\ufe0f\u20e3👍🏽👩🇩🇪🏴\U000e0067"
)
texts = st.one_of(st.text(), st.text(alphabet=ODD), st.text(alphabet="an't.-1@/ "))


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in segment(text)]


@given(texts)
def test_every_character_but_white_space_stands_in_exactly_one_word(text: str) -> None:
    assert "".join(words(text)) == "".join(text.split())


@given(texts)
def test_words_rise_and_are_never_empty(text: str) -> None:
    cursor = 0
    for start, end in segment(text):
        assert cursor <= start < end
        cursor = end


@given(st.text(alphabet=ODD) | st.text(alphabet=st.characters(max_codepoint=0xFFFF)))
def test_no_word_starts_with_a_mark_that_has_something_to_stand_on(text: str) -> None:
    for start, _ in segment(text):
        if start and not text[start - 1].isspace():
            assert unicodedata.category(text[start])[0] != "M"


@given(st.lists(texts, max_size=4))
def test_words_do_not_depend_on_what_stands_beyond_white_space(parts: list[str]) -> None:
    assert words(" \n".join(parts)) == [word for part in parts for word in words(part)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Selegiline-induced fall", "Selegiline|-|induced|fall"),
        ("SARS-CoV-2 well–known", "SARS|-|CoV|-|2|well|–|known"),
        ("p53/p21 and/or", "p53|/|p21|and|/|or"),
        ("(in vitro) [a, b]; c: d.", "(|in|vitro|)|[|a|,|b|]|;|c|:|d|."),
        ("wait... what?! -- ok", "wait|...|what|?!|--|ok"),
        ("snake_case _it_", "snake_case|_|it|_"),
    ],
)
def test_borders_between_parts_of_words_are_cut(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't can't DON'T", "do|n't|ca|n't|DO|N'T"),
        ("Lincoln's Lincoln’s", "Lincoln|'s|Lincoln|’s"),
        ("I'm we're they've she'll he'd", "I|'m|we|'re|they|'ve|she|'ll|he|'d"),
        ("shouldn’t've", "should|n’t|'ve"),
        ("O'Brien's dogs' 'quoted'", "O'Brien|'s|dogs|'|'|quoted|'"),
        ("l'eau d’Afrique qu'il dell'arte", "l'|eau|d’|Afrique|qu'|il|dell'|arte"),
    ],
)
def test_clitics_and_elisions_are_words(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234.56 3.5% $89", "1,234.56|3.5|%|$|89"),
        ("12:30 1/2 12/05/2020 2020-01-15", "12:30|1/2|12/05/2020|2020-01-15"),
        ("1990-1995, in 1990.", "1990|-|1995|,|in|1990|."),
        ("10mg 5th 1990s v1.2.3", "10mg|5th|1990s|v1.2.3"),
        ("U.S. e.g. U.S.-led", "U.S.|e.g.|U.S.|-|led"),
        ("Dr. Who vs. Acme Inc.", "Dr.|Who|vs.|Acme|Inc."),
        ("hepatitis C. Next", "hepatitis|C|.|Next"),
        ("finished.The end.", "finished|.|The|end|."),
    ],
)
def test_numbers_and_abbreviations_stay_whole_and_sentence_ends_are_cut_off(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.org/b?c=d,e#f.", "see|https://a.org/b?c=d,e#f|."),
        ("(www.a.org/x) example.com/y, shop.co.uk!", "(|www.a.org/x|)|example.com/y|,|shop.co.uk|!"),
        ("to j.doe+x@mail-host.example.org.", "to|j.doe+x@mail-host.example.org|."),
        ("#NLProc @some_one a@b", "#NLProc|@some_one|a|@b"),
        ("看http://t.cn/abc很好", "看|http://t.cn/abc|很|好"),
    ],
)
def test_addresses_hashtags_and_mentions_are_one_word(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我在北京用iPhone。", "我|在|北|京|用|iPhone|。"),
        ("東京タワー、人々", "東|京|タ|ワ|ー|、|人|々"),
        ("か\u3099き", "か\u3099|き"),
        ("서울에서 왔다", "서울에서|왔다"),
        ("שלום, עולם", "שלום|,|עולם"),
        ('צה"ל', 'צה"ל'),
        ("کتاب\u200cها خوب", "کتاب\u200cها|خوب"),
        ("नमस्ते दुनिया", "नमस्ते|दुनिया"),
        ("cafe\u0301 x\u200by", "cafe\u0301|x|\u200b|y"),
        ("\u200fabc", "\u200f|abc"),
    ],
)
def test_scripts_without_spaces_by_character_and_others_by_word(text: str, expected: str) -> None:
    assert words(text) == expected.split("|")


@pytest.mark.parametrize("emoji", ["👍", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "❤️", "1️⃣", "#️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏳️‍🌈", "👩🏽‍🚀"])
def test_an_emoji_sequence_is_one_word_wherever_it_stands(emoji: str) -> None:
    assert words(f"so{'' if emoji[0].isascii() else emoji} {emoji}{emoji}!")[-3:] == [emoji, emoji, "!"]


def test_a_run_longer_than_any_window_is_cut() -> None:
    found = words("x" * (2 * MAX_WORD + 1))
    assert [len(word) for word in found] == [MAX_WORD, MAX_WORD, 1]


ADVERSARIAL = [
    *("a", "a.", "a-", "ab.", "a@", "a@a.", "a@b.c", "a_", "a'", "n't", "'s", "l'", "1.", "1,2", "1111-11-", "a%"),
    *("http://", "http://.", "www.", "www.a)(", "#", "#a", "@@a", ".", "!?", "-", "_", "([", "a+b.", "a-b.", 'א"'),
    *("\u0301", "e\u0301", "👨\u200d", "👍🏽", "🇩", "中", "\u200b", "x" * 63 + ".", "x" * 70 + "@"),
]


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_time_stays_linear_on_hostile_text(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    began = time.perf_counter()
    found = words(text)
    assert time.perf_counter() - began < 3, "a quadratic rule would take minutes"
    assert "".join(found) == "".join(text.split())


@pytest.mark.parametrize(
    "unit", ["The patient, aged 45, didn't get Selegiline-induced hypotension in the U.S. ", "ab1"]
)
def test_a_megabyte_takes_about_a_second(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    began = time.perf_counter()
    segment(text)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello, мир", "latin"),
        ("Привет, world!!", "cyrillic"),
        ("東京タワー", "cjk"),
        ("مرحبا", "arabic"),
        ("12 %", "none"),
    ],
)
def test_script_is_that_of_most_letters(text: str, script: str) -> None:
    assert detect_script(text) == script
