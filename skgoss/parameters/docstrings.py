"""Decorators that write descriptions of arguments and attributes into docstrings."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from skgoss.parameters.descriptions import (
    ATTRIBUTES,
    BOOSTER,
    CONSTRUCTOR_KWARGS,
    FIT,
    FIT_OF_DASK,
    PLOT,
    PREDICTION,
)
from skgoss.parameters.table import OPTIONS

Function = TypeVar("Function", bound=Callable[..., Any])
Descriptions = dict[str, tuple[str, str]]

_OF_FIT = """Fit the model.

Parameters
----------
{parameters}

Returns
-------
self
    The fitted estimator.

Raises
------
ValueError
    If a parameter has an invalid value, or if the model cannot be fitted to the data.
    The estimator is then unchanged.
"""


_OF_STAGES = """Predict {what} after each round.

Each step only adds the trees of one round. This is faster than calling
``{name}`` for each number of rounds.

Parameters
----------
{{parameters}}

Returns
-------
iterator of ndarray of shape {shape}
    What ``{name}(X, num_iteration=i + 1)`` returns, for i = 0, 1, ...
"""

# What follows the first words of a plot's docstring.
_OF_PLOT = """

Parameters
----------
{{parameters}}

Returns
-------
{returns}

Raises
------
TypeError, ValueError
    If an argument has an invalid type or value, or if there is nothing to plot.

See Also
--------
{see_also}

Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> from skgoss import LGBMRegressor, {name}
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = LGBMRegressor(n_estimators=10).fit(X, y{fit})
>>> {example}
"""


def filled(doc: str, **lists: Iterable[tuple[str, str, str]]) -> str:
    """Write lists of arguments or attributes in the places marked in a docstring.

    Parameters
    ----------
    doc : str
        It may have the indentation of the source.
    **lists : iterables of (name, type, meaning)
        By mark: ``parameters`` replaces ``{parameters}``.
    """
    doc = inspect.cleandoc(doc)
    for mark, entries in lists.items():
        listed = "\n".join(_entry(*entry) for entry in entries)
        doc = doc.replace(f"{{{mark}}}", listed)
    return doc


# Four estimators and all predictions describe the same arguments, at each import.
@functools.cache
def _entry(name: str, type_: str, meaning: str) -> str:
    filled = textwrap.fill(meaning, 80, break_on_hyphens=False)
    return f"{name} : {type_}\n{textwrap.indent(filled, '    ')}"


def of_estimator(cls: type) -> type:
    """Describe the options and the attributes in the docstring of a class."""
    options = [
        (o.name, f"{o.domain.type}, default={o.default!r}", o.meaning) for o in OPTIONS
    ]
    cls.__doc__ = filled(
        cls.__doc__ or "",
        parameters=[*options, ("**kwargs", *CONSTRUCTOR_KWARGS)],
        attributes=[(name, *text) for name, text in ATTRIBUTES.items()],
    )
    return cls


def of_fit(method: Function) -> Function:
    """Give ``fit`` a docstring that describes the arguments of its signature."""
    method.__doc__ = _OF_FIT
    return _describe(method, FIT)


def of_fit_on_dask(method: Function) -> Function:
    """Give ``fit`` on a Dask cluster a docstring: see `of_fit`."""
    method.__doc__ = _OF_FIT
    return _describe(method, FIT_OF_DASK)


def of_prediction(method: Function) -> Function:
    """Describe the arguments of a prediction in its docstring."""
    return _describe(method, PREDICTION)


def of_stages(what: str, shape: str) -> Callable[[Function], Function]:
    """Give a method that predicts ``what`` after each round a docstring."""

    def describe(method: Function) -> Function:
        name = method.__name__.removeprefix("staged_")
        method.__doc__ = _OF_STAGES.format(what=what, name=name, shape=shape)
        return _describe(method, PREDICTION)

    return describe


def of_booster(**changes: tuple[str, str]) -> Callable[[Function], Function]:
    """Describe the arguments of a Booster's method in its docstring.

    Parameters
    ----------
    **changes : (type, meaning)
        By name: arguments that `BOOSTER` lacks, or that differ in this method.
    """
    return lambda method: _describe(method, BOOSTER | changes)


def of_plot(
    example: str,
    *see_also: str,
    returns: str = "matplotlib.axes.Axes\n    Where the plot is.",
    fit: str = "",
    **changes: tuple[str, str],
) -> Callable[[Function], Function]:
    """Add all but the first words to the docstring of a plot.

    Parameters
    ----------
    example : str
        A line of code that plots ``model``.
    *see_also : str
        Entries of the section "See Also".
    returns : str
        The entry of the section "Returns".
    fit : str
        More arguments of ``fit`` in the example.
    **changes : (type, meaning)
        By name: arguments that `PLOT` lacks, or that differ in this plot.
    """

    def describe(plot: Function) -> Function:
        rest = _OF_PLOT.format(
            returns=returns,
            see_also="\n".join(see_also),
            name=plot.__name__,
            fit=fit,
            example=example,
        )
        plot.__doc__ = inspect.cleandoc(plot.__doc__ or "") + rest
        return _describe(plot, PLOT | changes)

    return describe


def of_tree(**changes: tuple[str, str]) -> Callable[[Function], Function]:
    """Describe the arguments of a tree's drawing in its docstring: see `of_plot`."""
    return lambda plot: _describe(plot, PLOT | changes)


def _describe(method: Function, descriptions: Descriptions) -> Function:
    """Write the arguments of the signature in the place marked in the docstring."""
    entries = [
        ("**kwargs" if name == "kwargs" else name, *descriptions[name])
        for name in inspect.signature(method).parameters
        if name != "self"
    ]
    method.__doc__ = filled(method.__doc__ or "", parameters=entries)
    return method
