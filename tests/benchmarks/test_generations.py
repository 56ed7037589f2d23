"""Kept texts: resumed after a kill, read again as a model, and never written twice."""

import json

import pytest

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.stored_texts import load_stored
from fairlab.backbones.writers import Sampling, TextPrompt, Written
from fairlab.benchmarks import generations
from fairlab.benchmarks.generations import keeping_generations, notes_on, write_texts
from fairlab.types import CannotScore, FairlabError

KEYS = [
    "b932e028b387f01939aace90",
    "0495a1dd764b70a8345cea5f",
    "68324624a27f26e87038785b",
    "eaf267e4b97d8d618019fa5a",
]
PROMPTS = [TextPrompt("one"), TextPrompt("two"), TextPrompt("two", 1), TextPrompt("one")]


class Counting:
    """Writer that counts, and may be killed after some texts."""

    def __init__(self, last=99):
        self.asked, self.last = [], last

    def write(self, prompts, sampling, *, done=None, progress=""):
        found = []
        for place, one in enumerate(prompts):
            if len(self.asked) == self.last:
                raise KeyboardInterrupt
            self.asked.append(one)
            found.append(Written(f"{one.text} {one.sample}", "end", 2))
            done(place, found[-1])
        return found


def model(writer):
    found = ModelObject("m")
    found.writer = writer
    return found


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    first, second = Counting(last=2), Counting()
    with keeping_generations(tmp_path, "before"):
        with pytest.raises(KeyboardInterrupt):
            write_texts("b", model(first), PROMPTS, Sampling())
        file = tmp_path / "generations" / "before" / "b.jsonl"
        file.write_text(file.read_text() + '{"key": "half')
        found = write_texts("b", model(second), PROMPTS, Sampling())
        assert write_texts("b", model(Counting(last=0)), PROMPTS, Sampling()) == found
        other = Counting()
        write_texts("b", model(other), PROMPTS, Sampling(temperature=1.0))
    assert [one.text for one in found] == ["one 0", "two 0", "two 1", "one 0"]
    assert second.asked == [TextPrompt("two", 1)]
    assert len(other.asked) == 3  # drawn in another way
    assert "\n\n" not in file.read_text()
    assert write_texts("b", model(Counting()), PROMPTS[:1], Sampling()) == found[:1]  # and kept nowhere


def test_texts_are_kept_under_the_names_that_earlier_versions_gave_them():
    prompts = [TextPrompt("one"), TextPrompt("one", 1), TextPrompt("one", chat=True), TextPrompt("one", system="s")]
    assert [generations._key(one, Sampling(seed=2)) for one in prompts] == KEYS


def test_a_text_may_hold_what_other_tools_take_for_an_end_of_line(tmp_path):
    prompts = [TextPrompt("one\u2028two\x85"), TextPrompt("three\x1c"), TextPrompt("vier Bücher")]
    with keeping_generations(tmp_path, ""):
        found = write_texts("b", model(Counting()), prompts, Sampling())
        assert write_texts("b", model(Counting(last=0)), prompts, Sampling()) == found
    assert write_texts("b", load_stored(str(tmp_path / "generations")), prompts, Sampling()) == found
    assert "Bücher" in (tmp_path / "generations" / "b.jsonl").read_text(encoding="utf-8")


def test_kept_texts_are_a_model(tmp_path):
    with keeping_generations(tmp_path, ""):
        found = write_texts("b", model(Counting()), PROMPTS, Sampling())
    for path in (tmp_path / "generations", tmp_path / "generations" / "b.jsonl"):
        stored = load_stored(str(path))
        assert stored.offers == {"texts"}
        assert write_texts("b", stored, PROMPTS, Sampling()) == found
    with pytest.raises(CannotScore, match=r"lacks 1 of 1 texts, the first after 'three' \(sample 0\)"):
        write_texts("b", stored, [TextPrompt("three")], Sampling())


def test_files_of_other_tools_are_numbered_in_order(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(json.dumps({"prompt": "p", "text": text}) for text in "ab"))
    found = write_texts("b", load_stored(str(file)), [TextPrompt("p", 1), TextPrompt("p")], Sampling())
    assert [one.text for one in found] == ["b", "a"]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"prompt": "p"}', '{"prompt": 1, "text": "t"}', '{"prompt": "p", "text": "t", "ended": "x"}']
)
def test_a_bad_line_is_named(line, tmp_path):
    (tmp_path / "own.jsonl").write_text('{"prompt": "p", "text": "t"}\n' + line)
    with pytest.raises(FairlabError, match=r"own\.jsonl, line 2 is not like"):
        load_stored(str(tmp_path / "own.jsonl"))


def test_texts_that_failed_or_are_not_english_are_counted():
    german = "Der Mann ging langsam durch die alte Stadt und sah viele Leute"
    texts = [Written(german), Written("The man went through the old town and saw many people"), Written("", "failed")]
    said = [note.text for note in notes_on("refusals", texts)]
    assert said[0] == "1 of 3 texts failed and count as empty"
    assert said[1].startswith("1 of 3 texts contain no common English word")
    assert notes_on("refusals", texts[1:2]) == []
    eight = "eins zwei drei vier fünf sechs sieben acht"
    assert [len(notes_on("x", [Written(text)])) for text in (eight, eight[:-5], f"{eight} the")] == [1, 0, 0]
