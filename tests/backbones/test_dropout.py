import pytest
import torch

from fairlab.backbones.dropout import set_dropout
from fairlab.backbones.loading import load_backbone
from fairlab.types import FairlabError

NAMES = ["bert", "bert_mlm", "roberta_mlm", "distilbert_mlm", "albert_mlm"]


def load(folders, name):
    return load_backbone(str(folders[name]), pooling="mean", max_length=32, normalize=False).model


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_of_attention_gets_one_probability_and_all_others_the_other(tiny_folders, name):
    model = load(tiny_folders, name)
    before = model.config.to_dict()
    set_dropout(model, hidden=0.2, attention=0.15)
    found = [module.p for module in model.base_model.modules() if isinstance(module, torch.nn.Dropout)]
    distinct = 1 if name == "albert_mlm" else 2  # ALBERT's layers are one
    assert found.count(0.15) == distinct
    assert set(found) == {0.2, 0.15}
    assert model.config.to_dict() == before


@pytest.mark.parametrize(("hidden", "attention"), [(0.9, 0.0), (0.0, 0.9)])
@pytest.mark.parametrize("name", NAMES)
def test_both_probabilities_are_used_in_training_and_neither_otherwise(tiny_folders, name, hidden, attention):
    model = load(tiny_folders, name)
    ids = torch.tensor([[101, 2027, 2387, 1996, 102]])
    set_dropout(model, hidden=hidden, attention=attention)
    model.eval()
    first, second = (model.base_model(input_ids=ids).last_hidden_state for _ in range(2))
    assert torch.equal(first, second)
    model.train()
    first, second = (model.base_model(input_ids=ids).last_hidden_state for _ in range(2))
    assert not torch.equal(first, second)


def test_bad_input(tiny_folders):
    with pytest.raises(FairlabError, match=r"must be at least 0 and below 1: 1\.0, 0\.1"):
        set_dropout(load(tiny_folders, "bert"), hidden=1.0, attention=0.1)
    with pytest.raises(FairlabError, match="the dropout of LlamaForCausalLM cannot be set"):
        set_dropout(load(tiny_folders, "llama"), hidden=0.1, attention=0.1)
