"""Folders that somebody sent: what they name is not run, nothing is asked for them, and the end is one sentence."""

import hashlib
import io
import json
import os
import pickle
import shutil
import socket
import tarfile
import threading

import joblib
import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import save
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from fairlab.backbones.loading import load_backbone
from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.moderation import Moderation
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.build import build
from fairlab.run.exported_ensemble import load_with_sources
from fairlab.types import FairlabError

KEY = "HOSTILE_TEST_KEY"
HERE = "fairlab.methods.safety_ensemble.sources"


class Evil:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


@pytest.fixture
def requests(monkeypatch):
    """Whatever is looked up or connected to, but for what threads of earlier tests still do."""
    asked = []
    earlier = set(threading.enumerate()) - {threading.current_thread()}

    def refuse(*arguments, **_):
        if threading.current_thread() not in earlier:
            asked.append((threading.current_thread().name, *arguments))
        raise OSError("no network here")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv(KEY, "the-secret-of-this-test")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what transformers asks before it runs code
    return asked


def assert_refused(attempt, mark, requests):
    with pytest.raises(FairlabError) as error:
        attempt()
    assert not mark.exists()
    assert not requests
    assert "\n" not in str(error.value)
    assert "the-secret-of-this-test" not in str(error.value)


# ---------------------------------------------------------------- exported ensembles


@pytest.fixture
def ensemble(tmp_path):
    """A whole exported ensemble."""
    steps = [("missing", SimpleImputer()), ("scale", StandardScaler()), ("model", LogisticRegression())]
    pipeline = Pipeline(steps)
    features = np.random.default_rng(0).random((20, 4))
    pipeline.fit(features, features[:, 0] > 0.5)
    folder = tmp_path / "ensemble"
    save_ensemble({"hate": HarmModel([pipeline], 1.0, 0.0)}, Sources([Sentiment()]), folder)
    name_sources(folder, {"sentiment": {"_target_": f"{HERE}.sentiment.Sentiment"}})
    return folder


def name_sources(folder, sources):
    (folder / "sources.yaml").write_text(yaml.safe_dump(sources))


def replace_model(folder, content):
    """Put another file in the place of the fitted model, with its hash."""
    (folder / "hate.safetensors").write_bytes(content)
    description = json.loads((folder / "ensemble.json").read_text())
    description["harms"]["hate"]["sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "ensemble.json").write_text(json.dumps(description))


def evil_array(mark):
    made = io.BytesIO()
    np.save(made, np.array([Evil(mark)], dtype=object), allow_pickle=True)
    return made.getvalue()


def longer(folder):
    """The fitted model with an array that is said to be longer than the file."""
    content = (folder / "hate.safetensors").read_bytes()
    return content.replace(b'"shape":[4]', b'"shape":[9]')


def saved(value):
    made = io.BytesIO()
    torch.save(value, made)
    return made.getvalue()


def joblibbed(value):
    made = io.BytesIO()
    joblib.dump(value, made)
    return made.getvalue()


def classifier_with_pickled_weights(folder, mark):
    (folder / "classifier").mkdir()
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": 8}
    (folder / "classifier" / "config.json").write_text(json.dumps(config))
    (folder / "classifier" / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(mark)))
    name_sources(
        folder, {"t": {"_target_": f"{HERE}.transformer.TransformersClassifier", "name": f"{folder}/classifier"}}
    )


def checkpoint_with_pickle(folder, mark):
    (folder / "x.ckpt").write_bytes(saved(Evil(mark)))
    settings = {"checkpoint": f"{folder}/x.ckpt", "config": str(folder)}
    name_sources(folder, {"d": {"_target_": f"{HERE}.transformer.Detoxify", **settings}})


def vocabulary_with_pickle(folder, mark):
    root = folder / "toxic_classifier" / "model"
    root.mkdir(parents=True)
    (root / "model.weights.h5").write_bytes(b"")
    (root / "tokenizer.pickle").write_bytes(pickle.dumps(Evil(mark)))
    settings = {"package": "toxic_classifier", "folder": str(folder)}
    name_sources(folder, {"b": {"_target_": f"{HERE}.bilstm.BiLSTM", **settings}})


def linked(folder, name):
    shutil.move(folder / name, folder.parent / f"outside_{name}")
    (folder / name).symlink_to(folder.parent / f"outside_{name}")


def named_elsewhere(folder):
    shutil.copy(folder / "hate.safetensors", folder.parent / "hate.safetensors")
    description = json.loads((folder / "ensemble.json").read_text())
    description["harms"]["hate"]["file"] = "../hate.safetensors"
    (folder / "ensemble.json").write_text(json.dumps(description))


def with_arrays(folder, **arrays):
    """Other arrays as the fitted model, with their hash."""
    replace_model(folder, save(arrays))


def target(named, **settings):
    return lambda folder, mark: name_sources(
        folder, {"s": {"_target_": named, **{key: str(value).format(mark=mark) for key, value in settings.items()}}}
    )


NESTED = "[" * 100_000 + "]" * 100_000
ENSEMBLES = {
    "another target": target("os.system", command="touch {mark}"),
    "an attribute of a module": target(f"{HERE}.moderation.os.system", command="touch {mark}"),
    "the base of all sources": target(f"{HERE}.base.Source"),
    "a source that a module of sources imports": target(f"{HERE}.detoxify.Source"),
    "a source outside of fairlab": target("tests.methods.safety_ensemble.own_source.Exclamations"),
    "an attribute under the former name": target("fairlab.ensemble.moderation.os.system", command="touch {mark}"),
    "a module beside the sources": target(f"{HERE}..exported.portable.Path"),
    "an alias of numpy": target(f"{HERE}.combined.np.f2py.os.system", command="touch {mark}"),
    "importing a file": target(f"{HERE}.bilstm.importlib.util.spec_from_file_location", name="x", location="{mark}"),
    "a class of fairlab that is not a source": target(f"{HERE}.score_cache.ScoreCache", file="{mark}"),
    "a partial call": target(f"{HERE}.sentiment.Sentiment", _partial_="true"),
    "positional arguments": target(f"{HERE}.word_list.WordList", _args_="{mark}"),
    "a secret in a path": target(f"{HERE}.word_list.WordList", path=f"${{{{oc.env:{KEY}}}}}"),
    "a nested target": lambda folder, mark: name_sources(
        folder,
        {
            "s": {
                "_target_": f"{HERE}.word_list.WordList",
                "path": {"_target_": "os.system", "command": f"touch {mark}"},
            }
        },
    ),
    "a list of targets": lambda folder, _: name_sources(folder, {"s": {"_target_": [f"{HERE}.sentiment.Sentiment"]}}),
    "a YAML tag": lambda folder, mark: (folder / "sources.yaml").write_text(
        f"s: !!python/object/apply:os.system ['touch {mark}']\n"
    ),
    "YAML without end": lambda folder, _: (folder / "sources.yaml").write_text("s: &a [*a]\n"),
    "nested YAML": lambda folder, _: (folder / "sources.yaml").write_text("[" * 5_000),
    "an endpoint and a key": target(
        f"{HERE}.moderation.Moderation", base_url="http://127.0.0.1:9", model="m", outputs="hate", api_key_env=KEY
    ),
    "a name of the hub": target(f"{HERE}.transformer.TransformersClassifier", name="somebody/model"),
    "a classifier of pickles": classifier_with_pickled_weights,
    "a checkpoint of pickles": checkpoint_with_pickle,
    "a vocabulary of pickles": vocabulary_with_pickle,
    "sources behind a link": lambda folder, _: linked(folder, "sources.yaml"),
    "a model behind a link": lambda folder, _: linked(folder, "hate.safetensors"),
    "a model in another folder": lambda folder, _: named_elsewhere(folder),
    "arrays of another model": lambda folder, _: with_arrays(folder, **{"0.network.roots": np.zeros(1)}),
    "an array of objects": lambda folder, mark: replace_model(folder, evil_array(mark)),
    "arrays beyond the file": lambda folder, _: replace_model(folder, longer(folder)),
    "a header without end": lambda folder, _: replace_model(folder, (2**60).to_bytes(8, "little") + b"{"),
    "nested JSON": lambda folder, _: replace_model(folder, len(NESTED).to_bytes(8, "little") + NESTED.encode()),
    "a pickle": lambda folder, mark: replace_model(folder, pickle.dumps(Evil(mark))),
    "a pickle of joblib": lambda folder, mark: replace_model(folder, joblibbed(Evil(mark))),
    "a pickle of torch": lambda folder, mark: replace_model(folder, saved(Evil(mark))),
    "nested description": lambda folder, _: (folder / "ensemble.json").write_text(NESTED),
}


@pytest.mark.parametrize("spoil", ENSEMBLES.values(), ids=ENSEMBLES)
def test_an_ensemble_runs_nothing_asks_nobody_and_is_refused_in_a_sentence(ensemble, mark, requests, spoil):
    load_with_sources(str(ensemble))
    spoil(ensemble, mark)
    assert_refused(lambda: load_with_sources(str(ensemble))[0], mark, requests)


def test_an_address_and_a_key_come_from_the_command(ensemble, requests):
    moderation = f"{HERE}.moderation.Moderation"
    settings = {"base_url": "http://evil", "model": "m", "outputs": ["hate"], "api_key_env": KEY}
    name_sources(ensemble, {"moderation": {"_target_": moderation, **settings}})
    own = {"base_url": "http://localhost:9/v1", "api_key_env": None}
    _, sources = load_with_sources(str(ensemble), None, {"moderation": own})
    (source,) = sources.sources
    assert isinstance(source, Moderation)
    assert (source.endpoint.url, source.endpoint.api_key.variable) == ("http://localhost:9/v1/moderations", None)
    with pytest.raises(FairlabError, match=r"sources.other is not a source of .*; there are: moderation"):
        load_with_sources(str(ensemble), None, {"other": {}})
    assert not requests


def test_a_source_of_ones_own_is_built_where_the_command_names_it_alone(ensemble):
    own = "tests.methods.safety_ensemble.own_source.Exclamations"
    name_sources(ensemble, {"own": {"_target_": "whatever.the.folder.Says", "mark": "?"}})
    _, sources = load_with_sources(str(ensemble), None, {"own": {"_target_": own}})
    assert sources.score(["Really?", "Yes!"]).tolist() == [[1.0], [0.0]]
    with pytest.raises(FairlabError, match="there is no setting _partial_ of own"):
        load_with_sources(str(ensemble), None, {"own": {"_target_": own, "_partial_": True}})
    for name, message in (
        ("os.system", "os.system is not a source; derive its class from"),
        ("os", "os is not a source; derive its class from"),
        ("no.such.module.Own", r"the source no.such.module.Own cannot be imported \(No module named 'no'\)"),
    ):
        with pytest.raises(FairlabError, match=message):
            load_with_sources(str(ensemble), None, {"own": {"_target_": name}})


@pytest.mark.parametrize("former", ["fairlab.ensemble.sources", f"{HERE}.sources"])
def test_an_ensemble_that_was_exported_under_a_former_name_is_read(ensemble, former):
    name_sources(ensemble, {"sentiment": {"_target_": f"{former}.Sentiment"}})
    _, sources = load_with_sources(str(ensemble))
    assert isinstance(sources.sources[0], Sentiment)


# ---------------------------------------------------------------- model folders


@pytest.fixture
def model(tiny_folders, tmp_path):
    """A whole model folder of transformers."""
    shutil.copytree(tiny_folders["bert"], tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def sentence_model(tiny_folders, tmp_path):
    """A whole folder of sentence-transformers with a dense layer."""
    modules = [Transformer(str(tiny_folders["bert"])), Pooling(32), Dense(32, 8)]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "sentence"), create_model_card=False)
    return tmp_path / "sentence"


def embed(folder):
    return build(backbone_node(str(folder), {"max_length": 32})).embed(["a clock", "a boat"])


def change(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def with_code(folder, mark):
    code = f"import os\nos.system('touch {mark}')\nclass Evil: pass\n"
    for name in ("evil.py", "modeling_evil.py", "configuration_evil.py", "tokenization_evil.py"):
        (folder / name).write_text(code)


def own_code(folder, mark, file="config.json", **values):
    with_code(folder, mark)
    names = ("AutoConfig", "AutoModel", "AutoModelForMaskedLM", "AutoProcessor")
    auto_map = dict.fromkeys(names, "modeling_evil.Evil") | {"AutoTokenizer": ["tokenization_evil.Evil", None]}
    change(folder / file, auto_map=auto_map, **values)


def archive(folder):
    with tarfile.open(folder / "model.safetensors", "w") as made:
        made.add(folder / "config.json", "../../escaped.json")


MODELS = {
    "code for its configuration": lambda folder, mark: own_code(folder, mark, model_type="evil"),
    "pickled weights alone": lambda folder, mark: (
        (folder / "model.safetensors").unlink(),
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(mark))),
    ),
    "a pickle called safetensors": lambda folder, mark: (folder / "model.safetensors").write_bytes(saved(Evil(mark))),
    "an archive called safetensors": lambda folder, _: archive(folder),
    "an array called safetensors": lambda folder, mark: (folder / "model.safetensors").write_bytes(evil_array(mark)),
    "weights behind a link": lambda folder, _: linked(folder, "model.safetensors"),
    "a configuration behind a link": lambda folder, _: linked(folder, "config.json"),
    "a link to a folder": lambda folder, _: (folder / "more").symlink_to(folder.parent),
    "shards in another folder": lambda folder, _: (
        (folder / "model.safetensors").rename(folder.parent / "model.safetensors"),
        (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../model.safetensors"}}'),
    ),
    "adapters of another model": lambda folder, _: (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "base_model_name_or_path": "somebody/model", "auto_mapping": None})
    ),
    "attention of the hub": lambda folder, _: change(folder / "config.json", attn_implementation="somebody/kernel:run"),
    "attention of the hub, inside": lambda folder, _: change(
        folder / "config.json", text_config={"_attn_implementation": {"": "somebody/kernel"}}
    ),
    "nested JSON": lambda folder, _: (folder / "config.json").write_text(NESTED),
    "a list": lambda folder, _: (folder / "config.json").write_text("[]"),
    "a subtraction of pickles": lambda folder, mark: (
        (folder / "claim_only").mkdir(),
        (folder / "claim_only" / "subtraction.json").write_text('{"scale": 1, "space": "logits"}'),
        shutil.copy(folder / "config.json", folder / "claim_only"),
        (folder / "claim_only" / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(mark))),
    ),
    "a projection of pickles": lambda folder, mark: (
        (folder / "2_Dense").mkdir(),
        (folder / "2_Dense" / "model.safetensors").write_bytes(pickle.dumps(Evil(mark))),
        (folder / "2_Dense" / "config.json").write_text(
            '{"bias": false, "activation_function": "x.Identity", "in_features": 32, "out_features": 32}'
        ),
    ),
}


@pytest.mark.parametrize("spoil", MODELS.values(), ids=MODELS)
def test_a_model_runs_nothing_asks_nobody_and_is_refused_in_a_sentence(model, mark, requests, spoil):
    spoil(model, mark)
    assert_refused(lambda: embed(model), mark, requests)


PICKLES = (
    "pytorch_model.bin adapter_model.bin model.bin model.pt model.pth model.pkl model.ckpt training_args.bin "
    "optimizer.pt scheduler.pt rng_state.pth tokenizer.pkl vocab.pkl vocab.bin config.pkl rust_model.ot "
    "flax_model.msgpack tf_model.h5 model.joblib embeddings.npy model.npz pytorch_model-00001-of-00001.bin"
).split()


def test_pickles_beside_a_whole_model_are_not_opened(model, mark, requests):
    expected = embed(model)
    for name in PICKLES:
        (model / name).write_bytes(pickle.dumps(Evil(mark)))
    (model / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "pytorch_model-00001-of-00001.bin"}}')
    with_code(model, mark)
    (model / "__init__.py").write_text(f"import os\nos.system('touch {mark}')\n")
    assert torch.equal(embed(model), expected)
    assert not mark.exists()
    assert not requests


def test_a_tokenizer_with_code_is_read_without_it(model, mark, requests):
    expected = embed(model)
    own_code(model, mark, file="tokenizer_config.json", tokenizer_class="EvilTokenizer")
    assert torch.equal(embed(model), expected)
    assert not mark.exists()
    assert not requests


def module(number, **values):
    def spoil(folder, mark):
        with_code(folder, mark)
        modules = json.loads((folder / "modules.json").read_text())
        modules[number] |= values
        (folder / "modules.json").write_text(json.dumps(modules))

    return spoil


def in_file(name, **values):
    return lambda folder, _: change(folder / name, **values)


SENTENCE_MODELS = {
    "a module that is a command": module(1, type="os.system"),
    "a module of its own code": module(1, type="modeling_evil.Evil"),
    "an attribute of a module": module(1, type="sentence_transformers.util.misc.os.system"),
    "an alias of a module": module(1, type="sentence_transformers.base.model.pickle.Unpickler"),
    "a router": module(1, type="sentence_transformers.models.Router"),
    "a model inside": module(1, type="sentence_transformers.SentenceTransformer"),
    "a module in another folder": module(1, path="../1_Pooling"),
    "a module at the root": module(1, path="/etc"),
    "arguments of a module": module(1, kwargs=["trust_remote_code"]),
    "no transformer": module(0, type="sentence_transformers.models.Pooling"),
    "a function of torch": in_file("2_Dense/config.json", activation_function="torch.hub.load"),
    "a class of torch": in_file("2_Dense/config.json", activation_function="torch.utils.data.DataLoader"),
    "an attribute of torch": in_file("2_Dense/config.json", activation_function="torch.serialization.os.system"),
    "a tokenizer of the hub": in_file("sentence_bert_config.json", tokenizer_name_or_path="somebody/model"),
    "arguments of the model": in_file("sentence_bert_config.json", model_args={"trust_remote_code": True}),
    "arguments of the tokenizer": in_file("sentence_bert_config.json", tokenizer_args={"trust_remote_code": True}),
    "another method of the model": in_file(
        "sentence_bert_config.json", modality_config={"text": {"method": "push_to_hub", "method_output_name": None}}
    ),
    "pickled weights of a module": lambda folder, mark: (
        (folder / "2_Dense" / "model.safetensors").unlink(),
        (folder / "2_Dense" / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(mark))),
    ),
    "a module behind a link": lambda folder, _: linked(folder, "2_Dense"),
    "nested JSON": lambda folder, _: (folder / "modules.json").write_text(NESTED),
}


@pytest.mark.parametrize("spoil", SENTENCE_MODELS.values(), ids=SENTENCE_MODELS)
def test_a_sentence_model_runs_nothing_asks_nobody_and_is_refused(sentence_model, mark, requests, spoil):
    spoil(sentence_model, mark)
    assert_refused(lambda: embed(sentence_model), mark, requests)


def test_what_is_spoilt_above_was_whole(model, sentence_model, requests):
    assert embed(model).isfinite().all()
    assert embed(sentence_model).shape == (2, 8)
    assert load_backbone(str(model), pooling="cls", max_length=8, normalize=True).embed(["a"]).norm() == pytest.approx(
        1
    )
    assert not requests


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("slope", 10**400),
        ("slope", "1"),
        ("slope", True),
        ("intercept", None),
        ("intercept", [1]),
        ("threshold", 2),
        ("threshold", 10**400),
        ("threshold", "0.5"),
        ("file", 5),
        ("file", "../hate.safetensors"),
        ("file", "hate.txt"),
        ("file", ["hate.safetensors"]),
    ],
)
def test_a_description_of_another_type_is_one_sentence(ensemble, mark, requests, key, value):
    description = json.loads((ensemble / "ensemble.json").read_text())
    description["harms"]["hate"][key] = value
    (ensemble / "ensemble.json").write_text(json.dumps(description))
    assert_refused(lambda: load_with_sources(str(ensemble)), mark, requests)
