"""Use skgoss in place of the package lightgbm, for tools that import it by this name.

After ``import skgoss.as_lightgbm``, ``import lightgbm`` returns this module, and
``lightgbm.basic``, ``lightgbm.sklearn`` and so on are the modules of skgoss. So tools
that check whether a model is a ``lightgbm.Booster`` accept the models of skgoss. This
affects the whole process, which cannot use the package lightgbm any more.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import skgoss
from skgoss import *  # noqa: F403
from skgoss import __all__ as __all__
from skgoss import (
    basic,
    callback,
    compat,
    engine,
    lightgbm_private,
    plotting,
    sklearn,
)
from skgoss.utils import messages

# The version of LightGBM that has these names.
__version__ = "4.7.0"

# `lightgbm.dask` can be imported, although there is no folder.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    try:
        return getattr(skgoss, name)
    except ImportError as error:  # of Dask, for example: tools ask `hasattr`
        raise AttributeError(str(error)) from error


# The modules in place of those of LightGBM, by its names. That of Dask is imported only
# when it is used.
_IMPORTED = {
    module.__name__.replace("skgoss", "lightgbm", 1): module
    for module in (basic, callback, compat, engine, plotting, sklearn)
}
_MODULES = {"lightgbm": __name__, "lightgbm.dask": "skgoss.dask"} | {
    name: module.__name__ for name, module in _IMPORTED.items()
}


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of skgoss by LightGBM's names."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in _MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(_MODULES[name])


def _belongs_to_lightgbm(name: str) -> bool:
    """Whether a module that has been imported is one of the package lightgbm."""
    true_name = getattr(sys.modules[name], "__name__", "")
    is_ours = true_name.partition(".")[0] == "skgoss"
    return name.partition(".")[0] == "lightgbm" and not is_ours


def _install() -> None:
    if any(map(_belongs_to_lightgbm, list(sys.modules))):
        raise ImportError(
            "skgoss.as_lightgbm cannot be imported after the package lightgbm, which"
            " may be in use. Import it first, before packages that import lightgbm."
        )
    sys.modules.update(_IMPORTED, lightgbm=sys.modules[__name__])
    for module, names in lightgbm_private.NAMES.items():
        vars(_IMPORTED[f"lightgbm.{module}"]).update(names)
    lightgbm_private.install()
    messages.STANDS_FOR_LIGHTGBM.set()
    if not any(type(finder).__name__ == "_Finder" for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


_install()
