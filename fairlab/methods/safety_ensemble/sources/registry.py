"""Classes of sources by name: built-in sources, and sources that the user's command names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from fairlab.checks.completeness import refuse_without_title
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.types import FairlabError

HERE = __name__.rpartition(".")[0]
FORMER = ("fairlab.ensemble.", f"{HERE}.sources.", f"{HERE}.transformer.")  # modules named in older exports and records


def built_in_source(target: str) -> type[Source] | None:
    """Return the class of a built-in source of fairlab, or None for any other name.

    Only modules of this package are imported, and the class must be a source that one of them defines. A name in an
    ensemble's folder therefore cannot import any other module.
    """
    module, _, name = target.rpartition(".")
    modules = [f"{HERE}.{file.stem}" for file in sorted(Path(__file__).parent.glob("*.py"))]
    asked = modules if target.startswith(FORMER) else {module} & {*modules}
    for one in asked:
        found = vars(import_module(one)).get(name)
        if isinstance(found, type) and issubclass(found, Source) and found is not Source and found.__module__ == one:
            return found
    return None


def source_class(target: str) -> type[Source]:
    """Return the class of a source that the user's own command or configuration names.

    Raises:
        FairlabError: The module cannot be imported, has no source with this name, or the source has no title.
    """
    if found := built_in_source(target):
        return found
    module, _, name = target.rpartition(".")
    try:
        own = getattr(import_module(module), name, None) if module else None
    except ImportError as error:
        raise FairlabError(f"the source {target} cannot be imported ({error}); add its folder to PYTHONPATH") from error
    if not isinstance(own, type) or not issubclass(own, Source):
        raise FairlabError(f"{target} is not a source; derive its class from {HERE}.base.Source")
    refuse_without_title(own, "source")
    return own
