"""From a configuration node to the object it names."""

from __future__ import annotations

import inspect
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from fairlab.types import FairlabError


def build(node: DictConfig, *arguments: Any, **objects: Any) -> Any:
    """Call the node's ``_target_`` with the node's values, and with objects that no configuration can hold.

    Unlike Hydra's ``instantiate`` it hands objects over untouched and lets the target's own errors through.

    Raises:
        FairlabError: the target takes no setting of a name in the node; the message lists those it takes.
    """
    values: Any = OmegaConf.to_container(node, resolve=True)
    target = get_object(values.pop("_target_"))
    parameters = inspect.signature(target).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    if not takes_any and (unknown := sorted(str(name) for name in values if name not in parameters)):
        settings = [name for name in list(parameters)[len(arguments) :] if name not in objects]
        raise FairlabError(
            f"there is no setting '{unknown[0]}' for {target.__name__}; there are: {', '.join(settings)}"
        )
    return target(*arguments, **values, **objects)
