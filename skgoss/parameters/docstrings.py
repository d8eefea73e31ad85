"""Decorators that write descriptions of arguments and attributes into docstrings.

Where the source refers to the website, as editors show it, the docstring has the
arguments that `descriptions` has. Those that only one function has are described below.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from skgoss.parameters.descriptions import (
    AS_IN_PREDICT,
    ATTRIBUTES,
    BOOSTER,
    CONSTRUCTOR_KWARGS,
    FIT,
    PLOT,
    PREDICTION,
    entries,
)
from skgoss.parameters.domains import Option
from skgoss.parameters.table import GROUPS, OPTIONS
from skgoss.utils.public import SITE

Function = TypeVar("Function", bound=Callable[..., Any])
# Editors show what a decorator of a class returns, so it must be the class.
Class = TypeVar("Class", bound=type)

# What stands in the source: for arguments and attributes, and for options.
_ARGUMENTS = f"... : see {SITE}api.html"
_OPTIONS = f"... : see {SITE}parameters.html"
_ALL_OPTIONS = f"... : all, see {SITE}parameters.html"

_OF_FIT = f"""Fit the model.

Parameters
----------
{_ARGUMENTS}

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

# What follows the first words of a method that sets a field of a `Dataset`.
_OF_SETTER = """

Parameters
----------
{name} : {type_}
    {meaning}
"""

_OF_GETTER = """

Returns
-------
ndarray of shape {shape} or None
    A copy.
"""

_OF_CHAIN = """

Returns
-------
self
    {what}
"""

# The sections that follow that of what is returned.
_LATER = re.compile(r"\n\n(?=(?:Raises|Warns|See Also|Examples)\n-)")

# What follows the arguments of a plot.
_OF_PLOT = """

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


def filled(doc: str | None, **texts: str) -> str:
    """A docstring without the indentation of the source, with texts for its marks."""
    doc = inspect.cleandoc(doc or "")
    for mark, text in texts.items():
        doc = doc.replace(f"{{{mark}}}", text)
    return doc


def of_estimator(cls: Class) -> Class:
    """Describe the options and the attributes in the docstring of a class.

    All options, or those that matter most and the names of the others.
    """
    described = {option.name: _entry(option) for option in OPTIONS}
    (_, first), *others = GROUPS.items()
    named = [
        f"{_names(options)} : see `LGBMModel`\n    {topic}."
        for topic, options in others
    ]
    most = [described[option.name] for option in first]
    doc = inspect.cleandoc(cls.__doc__ or "")
    for mark, listed in (
        (_ALL_OPTIONS, [*described.values(), CONSTRUCTOR_KWARGS]),
        (_OPTIONS, [*most, *named, CONSTRUCTOR_KWARGS]),
        (_ARGUMENTS, ATTRIBUTES.values()),
    ):
        doc = doc.replace(mark, "\n".join(listed))
    cls.__doc__ = doc
    return cls


def _names(options: Iterable[Option]) -> str:
    return ", ".join(option.name for option in options)


def _entry(option: Option) -> str:
    """The description of an option in a docstring."""
    lines = [f"{option.name} : {option.domain.type}, default={option.default!r}"]
    lines.append(option.meaning)
    if option.advice:
        indent = " " * 4
        lines += textwrap.wrap(
            option.advice, 88, initial_indent=indent, subsequent_indent=indent
        )
    return "\n".join(lines)


def of_fit(method: Function, descriptions: dict[str, str] = FIT) -> Function:
    """Give ``fit`` a docstring that describes the arguments of its signature."""
    method.__doc__ = _OF_FIT
    return _describe(method, descriptions)


def of_prediction(method: Function) -> Function:
    """Describe the arguments of a prediction in its docstring.

    ``predict`` describes at length what the other methods share with it.
    """
    is_first = method.__name__ == "predict"
    return _describe(method, PREDICTION if is_first else PREDICTION | AS_IN_PREDICT)


def of_chain(what: str) -> Callable[[Class], Class]:
    """Describe what the methods of a class return that return the object itself."""

    def describe(cls: Class) -> Class:
        for name, method in vars(cls).items():
            is_chain = getattr(method, "__annotations__", {}).get("return") == "Self"
            doc = inspect.cleandoc(method.__doc__ or "") if is_chain else ""
            if doc and not name.startswith("_") and "\nReturns\n" not in doc:
                before, *later = _LATER.split(doc)
                returns = _OF_CHAIN.format(what=what).rstrip()
                method.__doc__ = "\n\n".join([before + returns, *later])
        return cls

    return describe


def of_booster(method: Function) -> Function:
    """Describe the arguments of a Booster's method in its docstring."""
    return _describe(method, BOOSTER)


def of_setter(type_: str, meaning: str) -> Callable[[Function], Function]:
    """Describe the argument of a method ``set_<name>`` of `Dataset`."""

    def describe(method: Function) -> Function:
        name = method.__name__.removeprefix("set_")
        return _extended(method, _OF_SETTER, name=name, type_=type_, meaning=meaning)

    return describe


def of_getter(shape: str) -> Callable[[Function], Function]:
    """Describe the result of a method of `Dataset` that returns a field."""
    return lambda method: _extended(method, _OF_GETTER, shape=shape)


def of_plot(
    example: str,
    *see_also: str,
    returns: str = "matplotlib.axes.Axes\n    The axes with the plot.",
    fit: str = "",
) -> Callable[[Function], Function]:
    """Add the sections that follow the arguments to the docstring of a plot.

    ``example`` is a line of code that plots ``model``, and ``fit`` has more arguments
    of ``fit`` in it. ``see_also`` and ``returns`` are entries of these sections.
    """

    def describe(plot: Function) -> Function:
        values = {"returns": returns, "see_also": "\n".join(see_also), "fit": fit}
        _extended(plot, _OF_PLOT, name=plot.__name__, example=example, **values)
        return _describe(plot, PLOT)

    return describe


def of_tree(plot: Function) -> Function:
    """Describe the arguments of a tree's drawing in its docstring."""
    return _describe(plot, PLOT)


def _extended(function: Function, text: str, **values: str) -> Function:
    """Add a text, with values for its marks, to a docstring."""
    function.__doc__ = inspect.cleandoc(function.__doc__ or "") + text.format(**values)
    return function


def _describe(function: Function, descriptions: dict[str, str]) -> Function:
    """Write the arguments of the signature in the place marked in the docstring."""
    doc = inspect.cleandoc(function.__doc__ or "")
    before, mark, after = doc.partition(_ARGUMENTS)
    only_here, gap, rest = after.partition("\n\n")
    if mark:
        descriptions = descriptions | entries(only_here)
        names = inspect.signature(function).parameters
        listed = _joined(descriptions[name] for name in names if name != "self")
        function.__doc__ = f"{before}{listed}{gap}{rest}"
    return function


def _joined(listed: Iterable[str]) -> str:
    """Entries below each other; those with the same words have one, with all names."""
    parted = [entry.split(" : ", 1) for entry in listed]
    return "\n".join(
        f"{', '.join(name for name, _ in same)} : {words}"
        for words, same in groupby(parted, key=itemgetter(1))
    )
