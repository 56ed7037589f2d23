"""Trust checks for exported ensembles: the sources that may be built, and the types a fitted model may contain.

A folder may name built-in sources of fairlab only, and those declare their own settings. A custom source, an address,
the name of a key variable and a name of the hub are accepted from the command only, never from a folder: a folder could
otherwise run code, or send a key to its author.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from fairlab.backbones.trust import loading
from fairlab.checks.foreign import read_object, read_yaml
from fairlab.checks.values import faults
from fairlab.files import check_folder, inside
from fairlab.methods.safety_ensemble.exported.trees import refuse_wild_trees
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.registry import built_in_source, source_class
from fairlab.types import FairlabError, Share, need_extra

DESCRIPTION, SOURCES = "ensemble.json", "sources.yaml"
TARGET = "_target_"
FILES = {"file": ".skops", "arrays": ".npz"}  # files of a harm, by key of the description; older exports have no arrays
IDENTITIES = "identities"  # key of the lexicons in the description, and folder of lexicons of one's own
BUILT_IN = re.compile("[a-z_]+")  # name of a lexicon that comes with fairlab
BESIDE = "sources"  # folder of the files of sources, in an exported ensemble
# Types that skops writes for forest, boosting and regressions of scikit-learn: loader, module and class.
SKOPS_PROTOCOL = 2
SKOPS_NODES = {
    ("DTypeNode", "numpy", "dtype"),
    ("DictNode", "builtins", "dict"),
    ("JsonNode", "builtins", "str"),
    ("ListNode", "builtins", "list"),
    ("TupleNode", "builtins", "tuple"),
    ("TypeNode", "builtins", "str"),
    ("LossNode", "sklearn._loss._loss", "CyHalfBinomialLoss"),
    ("NdArrayNode", "numpy", "ndarray"),
    ("NdArrayNode", "numpy", "float64"),
    ("NdArrayNode", "numpy", "int64"),
    ("NdArrayNode", "numpy", "uint64"),
    ("ObjectNode", "sklearn._loss.link", "Interval"),
    ("ObjectNode", "sklearn._loss.link", "LogitLink"),
    ("ObjectNode", "sklearn._loss.loss", "HalfBinomialLoss"),
    ("ObjectNode", "sklearn.ensemble._forest", "RandomForestClassifier"),
    ("ObjectNode", "sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper"),
    ("ObjectNode", "sklearn.ensemble._hist_gradient_boosting.gradient_boosting", "HistGradientBoostingClassifier"),
    ("ObjectNode", "sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
    ("ObjectNode", "sklearn.impute._base", "SimpleImputer"),
    ("ObjectNode", "sklearn.kernel_approximation", "Nystroem"),
    ("ObjectNode", "sklearn.linear_model._logistic", "LogisticRegression"),
    ("ObjectNode", "sklearn.pipeline", "Pipeline"),
    ("ObjectNode", "sklearn.preprocessing._data", "QuantileTransformer"),
    ("ObjectNode", "sklearn.preprocessing._data", "StandardScaler"),
    ("ObjectNode", "sklearn.preprocessing._label", "LabelEncoder"),
    ("ObjectNode", "sklearn.tree._classes", "DecisionTreeClassifier"),
    ("RandomGeneratorNode", "numpy.random._generator", "Generator"),
    ("TreeNode", "sklearn.tree._tree", "Tree"),
}
TRUSTED = sorted({f"{module}.{name}" for _, module, name in SKOPS_NODES})
MARKS = {"__loader__", "__module__", "__class__"}  # a mapping that holds one of these is a node
LARGEST = 4 * 2**30  # bytes of a fitted model, unpacked


def read_description(folder: Path) -> dict[str, Any]:
    """Read the description of an ensemble: features, versions of the sources, and a file and a line for each harm.

    Raises:
        FairlabError: The description is missing, or one of its values has the wrong type.
    """
    file = folder / DESCRIPTION
    if not file.is_file():
        raise FairlabError(f"{folder} holds no ensemble; give the folder 'model' of a run of safety_ensemble")
    check_folder(folder)
    content = read_object(file)
    features, sources, harms = (content.get(key) for key in ("features", "sources", "harms"))
    lists = isinstance(features, list) and all(isinstance(name, str) for name in features)
    if not lists or not isinstance(sources, dict) or not isinstance(harms, dict) or not harms:
        raise FairlabError(f"{file} does not describe features, sources and harms; export the ensemble anew")
    _check_identities(folder, content)
    for harm, entry in harms.items():
        numbers = [entry.get(key) for key in ("slope", "intercept")] if isinstance(entry, dict) else [None]
        if any(fault for number in numbers for fault in faults("", number, float, nodes=False)):
            raise FairlabError(f"{file} gives {harm} no slope and intercept that are numbers; export the ensemble anew")
        cut = entry.get("threshold", 0.5)
        if any(faults("", cut, Share, nodes=False)):
            raise FairlabError(f"{file} gives {harm} a threshold that is no score; export the ensemble anew")
        for key, suffix in FILES.items():
            name = entry.get(key)
            if name is None and key == "arrays":
                continue
            if not isinstance(name, str) or Path(name).name != name or not name.endswith(suffix):
                raise FairlabError(
                    f"{file} names {name!r} for {harm}, which is no {suffix} file beside it; do not use it"
                )
    return content


def is_file_of_words(name: str) -> bool:
    """Return whether the name of a lexicon is that of a file."""
    return name.endswith((".yaml", ".yml"))


def _check_identities(folder: Path, content: dict[str, Any]) -> None:
    """Resolve the lexicons that a description names: those of fairlab, and files beside it.

    Raises:
        FairlabError: A name is of another kind, or a file is missing or outside of the folder.
    """
    file, names = folder / DESCRIPTION, content.get(IDENTITIES)
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FairlabError(f"{file} gives no list of lexicons as {IDENTITIES}; export the ensemble anew")
    found = []
    for name in names:
        own = PurePosixPath(name)
        if is_file_of_words(name) and own.parts == (IDENTITIES, own.name) and (folder / own).is_file():
            found.append(str(inside(folder, name, str(folder))))
        elif BUILT_IN.fullmatch(name):
            found.append(name)
        else:
            raise FairlabError(f"{file} names the lexicon {name!r}, which is not beside it; do not use it")
    content[IDENTITIES] = found


def load_fitted(file: Path) -> list[Any]:
    """Return the fitted pipelines of a skops file after checking every part against the list of types.

    Raises:
        FairlabError: A part is not in the list, the file is damaged, or skops is not installed.
    """
    need_extra("safety", "reading an exported safety ensemble", "skops")
    skops_io = without_all_estimators()
    with loading(f"the fitted model {file}"):
        with zipfile.ZipFile(file) as held:
            if sum(member.file_size for member in held.infolist()) > LARGEST:
                raise FairlabError(f"{file} unpacks to more than {LARGEST >> 30} GiB; do not use it")
            schema = json.loads(held.read("schema.json"))
        if not isinstance(schema, dict) or schema.get("protocol") != SKOPS_PROTOCOL:
            raise FairlabError(f"{file} is of another version of skops; export the ensemble anew")
        _check_nodes(file, schema)
        pipelines = skops_io.load(file, trusted=TRUSTED)
    if not isinstance(pipelines, list) or not pipelines:
        raise FairlabError(f"{file} holds no list of fitted pipelines; export the ensemble anew")
    if strange := [type(one).__name__ for one in pipelines if type(one).__name__ != "Pipeline"]:
        raise FairlabError(f"{file} holds a {strange[0]} and no fitted pipeline; do not use it")
    refuse_wild_trees(file, pipelines)
    return pipelines


def without_all_estimators() -> Any:
    """Import the module skops.io without its listing of all estimators.

    On its first import, skops.io lists all estimators of scikit-learn as trusted types. This imports all of
    scikit-learn and torch, which takes seconds. Only our own list matters here.
    """
    import sklearn.utils

    listing = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = list
    try:
        import skops.io
    finally:
        sklearn.utils.all_estimators = listing
    return skops.io


def _check_nodes(file: Path, content: Any) -> None:
    if isinstance(content, dict):
        if content.keys() & MARKS:
            node = tuple(content.get(key) for key in ("__loader__", "__module__", "__class__"))
            if not all(isinstance(part, str) for part in node) or node not in SKOPS_NODES:
                raise FairlabError(
                    f"{file} holds a {node[1]}.{node[2]} ({node[0]}), which no ensemble holds; do not use it"
                )
            if node[0] == "NdArrayNode" and content.get("type") != "numpy":
                raise FairlabError(f"{file} holds an array of objects, which no ensemble holds; do not use it")
        for value in content.values():
            _check_nodes(file, value)
    elif isinstance(content, list):
        for value in content:
            _check_nodes(file, value)


def read_sources(folder: Path, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the settings of an ensemble's sources by name, with ``_target_``.

    Args:
        folder: Folder of the ensemble.
        given: Settings by name of the source, from the command; they take precedence over the folder's.

    Raises:
        FairlabError: A source is not part of fairlab and the command names no class for it, a setting does not exist,
            or the folder sets a value that only the command may set.
    """
    file = inside(folder, SOURCES, str(folder))
    named = read_yaml(file)
    if not isinstance(named, dict) or not named:
        raise FairlabError(f"{file} lists no sources; export the ensemble anew")
    if strange := sorted(set(given) - set(named)):
        raise FairlabError(f"sources.{strange[0]} is no source of {folder}; there are: {', '.join(map(str, named))}")
    return {str(name): _source(file, str(name), node, given.get(name, {})) for name, node in named.items()}


def _source(file: Path, name: str, node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return one source's settings after checking them."""
    source = _class(file, name, node, given)
    settings = {key: value for key, value in node.items() if key != TARGET}
    given = {key: value for key, value in given.items() if key != TARGET}
    if strange := sorted(map(str, (set(settings) | set(given)) - source.settings())):
        raise FairlabError(f"{file}: there is no setting {strange[0]} of {name}; do not use this ensemble")
    for key, value in settings.items():
        parts = value if isinstance(value, list) else [value]
        if not all(part is None or (isinstance(part, str) and "${" not in part) for part in parts):
            raise FairlabError(f"{file}: {key} of {name} must be a plain text; do not use this ensemble")
    if any(key not in given for key in source.secret):
        both = " ".join(f"+sources.{name}.{key}=VALUE" for key in source.secret)
        raise FairlabError(
            f"{file}: {name} asks a server, whose address and key are never taken from a folder; give both: {both} (or "
            "null where there is none)"
        )
    settings |= _located(file, name, source, {key: value for key, value in settings.items() if key not in given})
    hub, found = source.hub, settings.get(source.hub or "")
    if hub and hub not in given and not (found in source.built_in or Path(str(found)).is_dir()):
        raise FairlabError(
            f"{file}: {hub} of {name} is no folder here ({found}); what is fetched from the hub is never "
            f"taken from a folder, give it: +sources.{name}.{hub}=NAME"
        )
    return {TARGET: f"{source.__module__}.{source.__qualname__}", **settings, **given}


def _class(file: Path, name: str, node: Any, given: Mapping[str, Any]) -> type[Source]:
    """Return the class that the command names for a source, or else the fairlab class that the folder names."""
    if TARGET in given:
        if not isinstance(node, dict):
            raise FairlabError(f"{file}: {name} lists no settings; export the ensemble anew")
        return source_class(str(given[TARGET]))
    target = node.get(TARGET) if isinstance(node, dict) else None
    found = built_in_source(target) if isinstance(target, str) else None
    if found is None:
        raise FairlabError(
            f"{file}: {name} is no source of fairlab ({target}); do not use this ensemble, or name a class of your own "
            f"for it: +sources.{name}.{TARGET}=MODULE.CLASS"
        )
    return found


def _located(file: Path, name: str, source: type[Source], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the paths among a source's settings, resolved from the current location.

    Raises:
        FairlabError: A file does not exist, or a path leads out of the folder.
    """
    found = {}
    for key in source.paths:
        path = PurePosixPath(str(settings.get(key) or ""))
        beside = path.parts[:1] == (BESIDE,)
        if not path.parts or not (beside or path.is_absolute()):  # empty, a built-in list, or a name of the hub
            continue
        place = file.parent / path
        if ".." in path.parts or (beside and not place.resolve().is_relative_to(file.parent.resolve())):
            raise FairlabError(f"{file}: {key} of {name} leads out of the folder ({path}); do not use this ensemble")
        if not place.exists():
            raise FairlabError(
                f"{place}, which the source {name} needs, is not there; copy it there, or give its place: "
                f"+sources.{name}.{key}=PATH"
            )
        found[key] = str(place)
    return found
