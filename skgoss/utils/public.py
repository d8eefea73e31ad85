"""Public classes and functions say where users import them from.

Pickles, files of skops, messages and documentation then name ``skgoss.LGBMClassifier``,
so a class may move to another module without breaking a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

# Where the pages of docs/ are.
SITE = "https://skgoss.github.io/skgoss/"

Named = TypeVar("Named", bound=Callable[..., Any])


def set_module(module: str) -> Callable[[Named], Named]:
    """A decorator for what users import from ``module``."""

    def decorate(named: Named) -> Named:
        named.__module__ = module
        return named

    return decorate
