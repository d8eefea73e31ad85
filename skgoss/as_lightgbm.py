"""Let skgoss stand for the package lightgbm, for tools that import it by this name.

After ``import skgoss.as_lightgbm``, ``import lightgbm`` gives this module, and
``lightgbm.basic``, ``lightgbm.sklearn`` and so on are the modules of skgoss. So tools
that ask whether a model is a ``lightgbm.Booster`` accept the models of skgoss. This
holds for the whole process, in which the package lightgbm cannot be used any more.
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
from skgoss import basic, callback, compat, engine, plotting, sklearn

# The version of LightGBM that the names are of.
__version__ = "4.7.0"

# `lightgbm.dask` can be imported, although there is no folder.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(skgoss, name)


class _Dask(MetaPathFinder, Loader):
    """Imports Dask when ``lightgbm.dask`` is imported, and not before."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == "lightgbm.dask" else None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module("skgoss.dask")


def _install() -> None:
    module = sys.modules[__name__]
    if sys.modules.setdefault("lightgbm", module) is not module:
        raise ImportError(
            "skgoss.as_lightgbm cannot be imported after the package lightgbm, which"
            " may be in use. Import it first, before packages that import lightgbm."
        )
    for part in (basic, callback, compat, engine, plotting, sklearn):
        sys.modules[f"lightgbm.{part.__name__.partition('.')[2]}"] = part
    sys.meta_path.insert(0, _Dask())


_install()
