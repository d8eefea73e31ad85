"""Errors for arguments that do not exist, which name the one that was meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from skgoss.parameters.aliases import CANONICAL_NAME
from skgoss.parameters.constructor import remember_passed
from skgoss.parameters.table import FILE_OPTIONS
from skgoss.utils.messages import hint

# The names of the options of data files, which estimators do not have.
OF_FILES = {name for option in FILE_OPTIONS for name in option.names}

Function = TypeVar("Function", bound=Callable[..., Any])


def keywords_only(init: Function) -> Function:
    """Let a constructor without positional arguments say how to name them.

    The estimator learns which arguments were passed: `constructor.remember_passed`.
    """

    @functools.wraps(init)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        if args:
            cls = type(self).__name__
            raise TypeError(
                f"The parameters of {cls} have no order, got"
                f" {', '.join(map(repr, args))}. Write their names, as in"
                f" {cls}(n_estimators=100, learning_rate=0.1)."
            )
        init(self, **kwargs)
        remember_passed(self, kwargs)

    # scikit-learn asks for it whenever it copies an estimator.
    named.__signature__ = inspect.signature(init)  # type: ignore[attr-defined]
    return named  # type: ignore[return-value]


def helpful(options: str = "", **instead: str) -> Callable[[Function], Function]:
    """Let a function say what to write instead of an argument that it does not have.

    Parameters
    ----------
    options : str, default=""
        Where options belong, for messages.
    **instead : str
        What to use, by names that users may expect.

    Returns
    -------
    callable
        A decorator. It keeps the signature.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        known = signature.parameters.keys()
        own_options = OF_FILES if options == "params" else ()
        owner = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in known:
                    advice = _advice(name)
                    raise TypeError(f"{owner} has no argument {name!r}.{advice}")
            return function(*args, **kwargs)

        def _advice(name: str) -> str:
            if name in instead:
                return f" Use {instead[name]}."
            if options and (name in CANONICAL_NAME or name in own_options):
                return f" It belongs to {options}."
            return hint(name, known)

        # For inspect.getfullargspec, which does not look behind decorators.
        named.__signature__ = signature  # type: ignore[attr-defined]
        return named  # type: ignore[return-value]

    return decorate


of_fit = helpful(
    "the constructor",
    cv="the parameter folds of the constructor",
    eval_data="eval_set=[(X_valid, y_valid)]",
    group="LGBMRanker, which ranks the rows of queries",
    groups="qid, the query of each row, of LGBMRanker",
    metrics="eval_metric",
    qid="LGBMRanker, which ranks the rows of queries",
    valid_names="eval_names",
    valid_sets="eval_set=[(X_valid, y_valid)]",
    validation_data="eval_set=[(X_valid, y_valid)]",
    weight="sample_weight",
    weights="sample_weight",
)
