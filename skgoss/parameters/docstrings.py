"""Decorators that write descriptions of arguments and attributes into docstrings.

In the source, which editors show, a mark says in a few words what the arguments are. It
is a line that begins with dots, and the indented lines below it. The decorator replaces
it by the entries of `descriptions`. The source lists entries that only one function has
below the mark.
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

Function = TypeVar("Function", bound=Callable[..., Any])
# The decorator of a class must return this type, or editors would not show the class.
Class = TypeVar("Class", bound=type)

# The marks in the source: for arguments and attributes, and for options.
_ARGUMENTS, _ATTRIBUTES, _OPTIONS, _ALL_OPTIONS = (
    re.compile(rf"^\.\.\. : {what}\b.*(?:\n {{4}}.*)*", re.M)
    for what in ("arguments", "attributes", "options", "all options")
)

_FIT_DOCSTRING = """Fit the model.

Parameters
----------
... : arguments

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

# The sections that follow the first sentence of a method.
_SETTER_SECTIONS = """

Parameters
----------
{name} : {type_}
    {meaning}
"""

_GETTER_SECTIONS = """

Returns
-------
ndarray of shape {shape} or None
    A copy.
"""

_CHAIN_SECTIONS = """

Returns
-------
self
    {what}
"""

# Where the sections after "Returns" begin.
_LATER = re.compile(r"\n\n(?=(?:Raises|Warns|See Also|Examples)\n-)")

# The sections that follow the arguments of a plot.
_PLOT_SECTIONS = """

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


def describe_estimator(cls: Class) -> Class:
    """Describe the options and the attributes in the docstring of a class.

    The mark in the docstring decides whether all options are described, or only the
    most important ones, with the names of the other options.
    """
    described = {option.name: _entry(option) for option in OPTIONS}
    (_, important), *further = GROUPS.items()
    named = [
        f"{_names(options)} : see `LGBMModel`\n    {topic}."
        for topic, options in further
    ]
    first = [described[option.name] for option in important]
    doc = inspect.cleandoc(cls.__doc__ or "")
    for mark, listed in (
        (_ALL_OPTIONS, [*described.values(), CONSTRUCTOR_KWARGS]),
        (_OPTIONS, [*first, *named, CONSTRUCTOR_KWARGS]),
        (_ATTRIBUTES, ATTRIBUTES.values()),
    ):
        if found := mark.search(doc):
            doc = doc[: found.start()] + "\n".join(listed) + doc[found.end() :]
    cls.__doc__ = doc
    return cls


def _names(options: Iterable[Option]) -> str:
    """The names of options in one line of a docstring."""
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


def describe_fit(method: Function, descriptions: dict[str, str] = FIT) -> Function:
    """Give ``fit`` a docstring that describes the arguments of its signature."""
    method.__doc__ = _FIT_DOCSTRING
    return _describe(method, descriptions)


def describe_prediction(method: Function) -> Function:
    """Describe the arguments of a prediction in its docstring.

    Methods other than ``predict`` refer to it for the arguments that they share.
    """
    is_first = method.__name__ == "predict"
    return _describe(method, PREDICTION if is_first else PREDICTION | AS_IN_PREDICT)


def describe_chain(what: str) -> Callable[[Class], Class]:
    """Add "Returns: self" to the methods of a class that return the object itself.

    These have the return type ``Self``. ``what`` describes the object.
    """

    def describe(cls: Class) -> Class:
        for name, method in vars(cls).items():
            is_chain = getattr(method, "__annotations__", {}).get("return") == "Self"
            doc = inspect.cleandoc(method.__doc__ or "") if is_chain else ""
            if doc and not name.startswith("_") and "\nReturns\n" not in doc:
                before, *later = _LATER.split(doc)
                returns = _CHAIN_SECTIONS.format(what=what).rstrip()
                method.__doc__ = "\n\n".join([before + returns, *later])
        return cls

    return describe


def describe_booster(method: Function) -> Function:
    """Describe the arguments of a Booster's method in its docstring."""
    return _describe(method, BOOSTER)


def describe_setter(type_: str, meaning: str) -> Callable[[Function], Function]:
    """Describe the argument of a method ``set_<name>`` of `Dataset`."""

    def describe(method: Function) -> Function:
        name = method.__name__.removeprefix("set_")
        return _extended(
            method, _SETTER_SECTIONS, name=name, type_=type_, meaning=meaning
        )

    return describe


def describe_getter(shape: str) -> Callable[[Function], Function]:
    """Describe the result of a method of `Dataset` that returns a field."""
    return lambda method: _extended(method, _GETTER_SECTIONS, shape=shape)


def describe_plot(
    example: str,
    *see_also: str,
    returns: str = "matplotlib.axes.Axes\n    The axes with the plot.",
    fit: str = "",
) -> Callable[[Function], Function]:
    """Add the sections that follow the arguments to the docstring of a plot.

    ``example`` is a line of code that plots ``model``. ``fit`` is inserted after ``y``
    in the call ``fit(X, y)`` before it, such as ", eval_set=[(X, y)]". ``see_also`` and
    ``returns`` are entries of these sections.
    """

    def describe(plot: Function) -> Function:
        values = {"returns": returns, "see_also": "\n".join(see_also), "fit": fit}
        _extended(plot, _PLOT_SECTIONS, name=plot.__name__, example=example, **values)
        return _describe(plot, PLOT)

    return describe


def describe_tree(plot: Function) -> Function:
    """Describe the arguments of a tree's drawing in its docstring."""
    return _describe(plot, PLOT)


def _extended(function: Function, text: str, **values: str) -> Function:
    """Add a text to the docstring of a function, with values for its names in braces.

    The function itself is changed, and returned for use in decorators.
    """
    function.__doc__ = inspect.cleandoc(function.__doc__ or "") + text.format(**values)
    return function


def _describe(function: Function, descriptions: dict[str, str]) -> Function:
    """Replace the mark in a docstring by the entries of the function's arguments.

    ``descriptions`` has the entries by name: see `descriptions.entries`. Entries that
    follow the mark come first. A docstring without a mark stays as it is.
    """
    doc = inspect.cleandoc(function.__doc__ or "")
    if mark := _ARGUMENTS.search(doc):
        before, after = doc[: mark.start()], doc[mark.end() :]
        own_entries, gap, later = after.partition("\n\n")
        descriptions = descriptions | entries(own_entries)
        names = inspect.signature(function).parameters
        listed = _joined(descriptions[name] for name in names if name != "self")
        function.__doc__ = f"{before}{listed}{gap}{later}"
    return function


def _joined(listed: Iterable[str]) -> str:
    """The entries, one below the other. Neighbors with the same text are merged."""
    parted = [entry.split(" : ", 1) for entry in listed]
    return "\n".join(
        f"{', '.join(name for name, _ in same)} : {text}"
        for text, same in groupby(parted, key=itemgetter(1))
    )
