"""fairlab: a research framework for fairness in natural language processing, on Hydra and Lightning.

The public Python functions are exported here by name: see :mod:`fairlab.api`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairlab.api import audit, augment, compare, debias, evaluate, load, mend, rewrite, runs

__version__ = "0.3.0"
__all__ = ["audit", "augment", "compare", "debias", "evaluate", "load", "mend", "rewrite", "runs"]


class _Package(ModuleType):
    """Module class of the package, which imports functions on first access, because importing torch takes seconds.

    Some functions share their names with entry points, such as ``fairlab/evaluate.py`` and ``fairlab/audit``. Python
    would overwrite the function with the module on import; this class keeps the function.
    """

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'fairlab' has no attribute '{name}'")
        from fairlab import api

        return getattr(api, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        held = vars(self)
        modules = {name for name in held if isinstance(held[name], ModuleType)}
        return sorted({*__all__, *(modules - {"sys"}), *(name for name in held if name.startswith("__"))})


sys.modules[__name__].__class__ = _Package
