import pytest

from fairlab.rewriting.english.coreference import Coreference
from fairlab.text.pipeline import parse

MARKED = {"he": "man", "His": "man", "him": "man", "his": "man", "John": "man", "Peter": "man", "man": "man"}
MARKED |= {"she": "woman", "her": "woman", "She": "woman", "Mary": "woman", "woman": "woman", "mother": "woman"}


def chain(text, word):
    doc = next(parse([text]))
    marked = [(t.idx, t.idx + len(t), MARKED[t.text]) for t in doc if t.text in MARKED]
    return [
        text[start:].split()[0].strip(".,") for start in sorted(Coreference(doc, marked).marked_with(text.index(word)))
    ]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("John told Mary that he had seen her.", "John", ["John", "he"]),
        ("John told Mary that he had seen her.", "Mary", ["Mary", "her"]),
        ("Mary sat down. She was a mother.", "Mary", ["Mary", "She", "mother"]),
        ("John Smith met Peter. Later Smith said he was tired.", "John", ["John", "he"]),
        ("The man left and he cried.", "man", ["man", "he"]),
        ("A woman saw a man. The woman waved.", "woman", ["woman", "woman"]),
        ("Smith won a prize, because the Bunte had printed an interview with her.", "Smith", ["her"]),
        ("Smith, who was born in November, said that she was glad.", "Smith", ["she"]),
        ("John was there. The driver lost his keys.", "John", ["John"]),
        ('"Mary is here," said John. She smiled.', "Mary", ["Mary", "She"]),
        ("Mary wrote. The singer lost her voice.", "Mary", ["Mary"]),
        ("A woman saw a man. A woman waved.", "woman", ["woman"]),
        ("Mary left. She is the mother.", "Mary", ["Mary", "She", "mother"]),
        ("His dog barked. John left.", "John", ["His", "John"]),
        ("His dog barked. It rained. John left.", "John", ["John"]),
        ("Smith sat down. The car lost his hubcap.", "Smith", ["his"]),  # a car is nobody
    ],
)
def test_chains(text, word, expected):
    assert chain(text, word) == expected


@pytest.mark.parametrize(("name", "expected"), [("Mary", ["Mary", "her"]), ("Sinead", ["her"])])
def test_a_name_without_counts_does_not_outweigh_a_nearer_person(monkeypatch, name, expected):
    monkeypatch.setitem(MARKED, "Sinead", "woman")
    assert chain(f"The show about {name} was made by Smith for her fans.", "her") == expected
