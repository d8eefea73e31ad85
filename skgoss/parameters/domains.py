"""Options as rows of a table, the values that they may take, and their conversion."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np

from skgoss.utils.plain_values import INT32_MAX

UINT32_MAX = 2**32 - 1


class Domain(NamedTuple):
    """The values that an option may take."""

    type: str  # the type in docstrings
    description: str  # completes the sentence "must be ..."
    # Returns a value as a plain Python object, or ``NotImplemented`` if it is outside
    # the domain: None is a value of some domains. All functions ``convert`` and
    # ``_convert_...`` below do so.
    convert: Callable[[Any], Any]
    is_list: bool = False  # whether a single item in a model file stands for a list

    def parse(self, value: Any) -> Any:
        """Convert a str to a number, unless the str itself is a value of the domain.

        A str that is not a number either is returned as it is. So is a value that is
        not a str.
        """
        is_outside = isinstance(value, str) and self.convert(value) is NotImplemented
        return parse_number(value) if is_outside else value

    def is_absent(self, value: Any) -> bool:
        """Whether a value outside the domain means that none is passed: None or []."""
        if value is None:
            return True
        is_empty = isinstance(value, str | list | tuple) and not value
        return is_empty and "list" in self.type


class Need(NamedTuple):
    """A condition under which an option has an effect: its text and its test.

    ``is_met`` gets the options of the fit, and facts about its data, by name: see
    `unused_options.known`.
    """

    text: str
    is_met: Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Option:
    """One row of the table of options."""

    name: str  # the canonical name: the one in the signature of estimators
    default: Any
    domain: Domain
    meaning: str  # the lines below the name in a docstring
    advice: str  # when to change it
    lightgbm: str  # LightGBM's main name
    # All other names, including LightGBM's main name if it is not ``name``.
    aliases: tuple[str, ...]
    # When it has an effect, in addition to an objective or a metric that reads it.
    needs: tuple[Need, ...] = ()
    may_vary: bool = False  # whether it may change from round to round
    # The value of a seed that is None, if ``random_state`` is None, too: LightGBM's.
    seed: int | None = None
    is_added: bool = False  # whether LightGBM lacks it

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return self.name, *self.aliases

    @property
    def precedence(self) -> tuple[str, ...]:
        """All names in LightGBM's order of precedence.

        LightGBM's main name comes first, then shorter names before longer ones.
        """

        def rank(name: str) -> tuple[bool, int, str]:
            return name != self.lightgbm, len(name), name

        return tuple(sorted(self.names, key=rank))

    def checked(self, value: Any, owner: str) -> Any:
        """Return ``value`` as a plain Python object; ValueError if it is not allowed.

        Numbers may be strings. None, and empty lists where lists are allowed, stand for
        the default unless they have a meaning of their own. ``owner`` is the estimator
        or function that the message names.
        """
        if value is self.default:
            return value
        converted = self.domain.convert(value)
        if converted is NotImplemented and isinstance(value, str):
            converted = self.domain.convert(parse_number(value))
        if converted is NotImplemented and self.domain.is_absent(value):
            return self.default
        if converted is NotImplemented:
            raise ValueError(
                f"The {self.name!r} parameter of {owner} must be"
                f" {self.domain.description}. Got {value!r} instead."
            )
        return converted


def parse_number(text: str) -> int | float | str:
    """Return the number in a text, or the text if it is not a number."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def integer(low: int, high: int = INT32_MAX) -> Domain:
    """Integers from ``low`` to ``high``, inclusive. Bools are not integers."""

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            return NotImplemented
        number = int(value)
        return number if low <= number <= high else NotImplemented

    limit = "inf)" if high == INT32_MAX else f"{high}]"
    is_bounded = low > -INT32_MAX
    description = f"an int in the range [{low}, {limit}" if is_bounded else "an int"
    return Domain("int", description, convert)


def real(
    low: float = -math.inf, high: float = math.inf, *, closed: str = "neither"
) -> Domain:
    """Finite numbers from ``low`` to ``high``.

    ``closed`` says which ends are included: 'left', 'right', 'both' or 'neither'.
    """
    left, right = closed in {"left", "both"}, closed in {"right", "both"}

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return NotImplemented
        try:
            number = float(value)
        except OverflowError:
            return NotImplemented
        is_end = (left and number == low) or (right and number == high)
        return number if is_end or low < number < high else NotImplemented

    bounds = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
    return Domain("float", f"a float in the range {bounds}", convert)


def choice(*names: str, **replaced: str) -> Domain:
    """Names, which users may write in upper or lower case.

    A keyword argument is an alias of a name: ``gbrt="gbdt"`` converts 'gbrt' to 'gbdt'.
    """
    values = dict(zip(names, names, strict=True)) | replaced

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return NotImplemented
        return values.get(value.lower(), NotImplemented)

    listed = ", ".join(map(repr, values))
    return Domain(f"{{{listed}}}", f"a str among {{{listed}}}", convert)


def either(first: Domain, second: Domain) -> Domain:
    """The values of two domains; ``first`` converts those that are in both."""

    def convert(value: Any) -> Any:
        converted = first.convert(value)
        return second.convert(value) if converted is NotImplemented else converted

    words = f"{first.description} or {second.description}"
    return Domain(f"{first.type} or {second.type}", words, convert)


def optional(domain: Domain) -> Domain:
    """The values of ``domain``, and None."""

    def convert(value: Any) -> Any:
        return None if value is None else domain.convert(value)

    texts = f"{domain.type} or None", f"{domain.description} or None"
    return Domain(*texts, convert, domain.is_list)


def instance(type_: str, description: str, accepts: Callable[[Any], bool]) -> Domain:
    """Objects for which ``accepts`` is true; they are not converted.

    ``type_`` and ``description`` are those of `Domain`.
    """

    def convert(value: Any) -> Any:
        return value if accepts(value) else NotImplemented

    return Domain(type_, description, convert)


def _convert_bool(value: Any) -> Any:
    """Convert a bool, also NumPy's, or 'true' or 'false' in any case."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str):
        return NotImplemented
    # LightGBM's parameter files spell bools like this, as scripts do.
    return {"true": True, "false": False}.get(value.lower(), NotImplemented)


def _convert_random_state(value: Any) -> Any:
    """Convert a seed to an int; generators of NumPy stay as they are."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return value
    return integer(0, UINT32_MAX).convert(value)


def _is_collection(value: Any) -> bool:
    """Whether an object can be iterated over more than once, and is not a mapping."""
    is_scalar = isinstance(value, np.ndarray) and value.ndim == 0
    is_iterable = isinstance(value, Iterable) and not is_scalar
    return is_iterable and not isinstance(value, Mapping | Iterator)


def _convert_columns(value: Any) -> Any:
    """Convert to a list of names and numbers of columns."""
    if isinstance(value, str) or not _is_collection(value):
        return NotImplemented
    columns = [COLUMN.convert(column) for column in value]
    return NotImplemented if NotImplemented in columns else columns


def _convert_categorical(value: Any) -> Any:
    """Convert to 'auto', None or a list of names and numbers of columns."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if not isinstance(value, str | numbers.Integral):
        return _convert_columns(value)
    columns = FILE_COLUMNS.convert(value) if value != "" else NotImplemented
    return columns if columns is NotImplemented else list(columns)


def _convert_column(value: Any) -> Any:
    """Convert to a name or a number of a column, also subclasses of str and int."""
    return str(value) if isinstance(value, str) else integer(0).convert(value)


def _file_columns(may_be_list: bool) -> Callable[[Any], Any]:
    """Return a function that converts columns of a data file to a tuple of them.

    It takes a number, 'name:' and a name, or a str of digits; if it ``may_be_list``,
    also a list of these, or a str with commas between them. '' is an empty tuple.
    """

    def convert(value: Any) -> Any:
        is_list = may_be_list and isinstance(value, list | tuple)
        columns = value if is_list else [value]
        if NotImplemented in map(COLUMN.convert, columns):
            return NotImplemented
        text = ",".join(map(str, columns))
        if text.startswith("name:"):
            names = text.split(",") if may_be_list else [text]
            return tuple(name.removeprefix("name:") for name in names)
        digits = [text.strip() for text in text.split(",")] if text else []
        are_numbers = all(re.fullmatch("[0-9]{1,9}", text) for text in digits)
        is_valid = are_numbers and (may_be_list or len(digits) <= 1)
        return tuple(map(int, digits)) if is_valid else NotImplemented

    return convert


def _convert_metric(value: Any) -> Any:
    """Convert to None, a name, a function, or a list of names and functions."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    if not isinstance(value, list | tuple | set):
        return NotImplemented
    metrics = list(value)
    is_valid = all(m is None or isinstance(m, str) or callable(m) for m in metrics)
    return metrics if is_valid else NotImplemented


def _tuple_of(domain: Domain) -> Callable[[Any], Any]:
    """Return a function that converts to a tuple whose items are in ``domain``.

    It takes a number, a list of numbers or a str like '1,3,5', but none that are empty.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = [float(number) for number in value.split(",")]
            except ValueError:
                return NotImplemented
            if domain.type == "int":
                value = [int(v) if v.is_integer() else v for v in value]
        if isinstance(value, numbers.Real):
            value = [value]
        if not _is_collection(value):
            return NotImplemented
        converted = tuple(domain.convert(number) for number in value)
        is_valid = converted and NotImplemented not in converted
        return converted if is_valid else NotImplemented

    return convert


def _by_column(domain: Domain, values: str) -> Domain:
    """One value of ``domain`` per column: a list, a str like '1,0,-1', or a dict.

    The keys of the dict are names or numbers of columns. None and empty values become
    None. ``values`` are the words for several values in messages.
    """

    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, str | list | tuple) and not value):
            return None
        if not isinstance(value, Mapping):
            return _tuple_of(domain)(value)
        converted = {
            COLUMN.convert(column): domain.convert(item)
            for column, item in value.items()
        }
        is_valid = NotImplemented not in (*converted, *converted.values())
        return converted if is_valid else NotImplemented

    return Domain(
        f"list of {domain.type}, dict, str or None",
        f"None, a list of {values} with one item for each column (or a str like '1,0'),"
        f" or a dict from column names or numbers to {values}",
        convert,
        is_list=True,
    )


def _convert_sign(value: Any) -> Any:
    """Convert to -1, 0 or 1; floats are allowed, as in LightGBM."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return int(value) if is_number and value in (-1, 0, 1) else NotImplemented


def _convert_sets_of_columns(value: Any) -> Any:
    """Convert to None, 'pairwise', 'no_interactions' or a list of lists of columns.

    A str of lists is JSON without the outer brackets, as LightGBM writes it.
    """
    if isinstance(value, str):
        if value in {"pairwise", "no_interactions"}:
            return value
        try:
            value = json.loads(f"[{value}]")
        except ValueError:
            return NotImplemented
    if value is None or not _is_collection(value):
        return None if value is None else NotImplemented
    sets = [_convert_columns(columns) for columns in value]
    is_valid = all(columns is not NotImplemented and columns for columns in sets)
    return (sets or None) if is_valid else NotImplemented


def _convert_date_features(value: Any) -> Any:
    """Convert to 'auto', False or a list of parts of dates."""
    is_bool = _convert_bool(value)
    if is_bool is not NotImplemented:
        return "auto" if is_bool else False
    return _convert_date_parts(value)


def _convert_date_parts(value: Any) -> Any:
    """Convert to 'auto' or a list of parts of dates."""
    if isinstance(value, str) and value != "auto":
        value = value.split(",")
    if isinstance(value, str) or not _is_collection(value):
        return value if isinstance(value, str) else NotImplemented
    parts = list(value)
    is_valid = all(isinstance(p, str) and p in DATE_PARTS for p in parts)
    return parts if is_valid and len(set(parts)) == len(parts) else NotImplemented


def _contents(*types: type) -> Callable[[Any], Any]:
    """Return a function that converts to None, the name of a file, or its contents.

    The contents are an object of one of these ``types``. Empty ones become None.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, PathLike):
            return fspath(value)
        is_valid = value is None or isinstance(value, (str, *types))
        return (value or None) if is_valid else NotImplemented

    return convert


def _convert_folds(value: Any) -> Any:
    """Convert a number of folds; splitters and pairs of row numbers stay as they are.

    A splitter is an object with a method ``split``, as scikit-learn's KFold.
    """
    if value is None:
        return value
    if hasattr(value, "split") and not isinstance(value, str | type):
        return value
    if isinstance(value, list | tuple):
        return value
    return integer(2).convert(value)


def _convert_min_delta(value: Any) -> Any:
    """Convert to a number or a list of numbers."""
    if isinstance(value, numbers.Real):
        return NOT_NEGATIVE.convert(value)
    converted = _tuple_of(NOT_NEGATIVE)(value)
    return converted if converted is NotImplemented else list(converted)


def _convert_levels(value: Any) -> Any:
    """Convert to a tuple of levels of quantiles, in ascending order."""
    levels = _tuple_of(real(0, 1))(value)
    if levels is NotImplemented or any(a >= b for a, b in pairwise(levels)):
        return NotImplemented
    return levels


def _convert_alpha(value: Any) -> Any:
    """Convert to a number, or a tuple of levels of quantiles."""
    is_list = not isinstance(value, numbers.Real | str) or "," in str(value)
    return LEVELS.convert(value) if is_list else POSITIVE.convert(value)


ANY_INT = integer(-INT32_MAX - 1)
BOOL = Domain("bool", "a bool", _convert_bool)
POSITIVE_FRACTION = real(0, 1, closed="right")
FRACTION = real(0, 1, closed="both")
POSITIVE = real(0)
N_BYTES = optional(POSITIVE)._replace(
    description="a positive number of bytes, such as 8e9 for 8 GB, or None"
)
N_ROUNDS = optional(ANY_INT)._replace(
    description="an int, the number of rounds, such as 20, or None"
)
NOT_NEGATIVE = real(0, closed="left")
SEED = optional(integer(0))
OBJECTIVE = instance(
    "str, callable or None",
    "a str, a callable or None",
    lambda value: value is None or isinstance(value, str) or callable(value),
)
CLASS_WEIGHT = instance(
    "dict, 'balanced', list of them or None",
    "a dict that maps labels to weights, 'balanced' or None, or a list with one of"
    " these for each target",
    lambda value: all(
        weights is None
        or isinstance(weights, Mapping)
        or (isinstance(weights, str) and weights == "balanced")
        for weights in (value if isinstance(value, list | tuple) else [value])
    ),
)
LEVELS = Domain(
    "list of float",
    "a list of floats between 0 and 1 (exclusive), in strictly ascending order",
    _convert_levels,
)
ALPHA = Domain(
    "float or list of float",
    f"{POSITIVE.description}, or {LEVELS.description}",
    _convert_alpha,
)
FOLDS = Domain(
    "int, splitter, list of pairs or None",
    "None, an int >= 2, a scikit-learn splitter such as KFold(5), or a list of pairs"
    " of row numbers (train, test)",
    _convert_folds,
)
RANDOM_STATE = optional(
    Domain(
        "int, RandomState, Generator",
        f"an int in the range [0, {UINT32_MAX}], a NumPy RandomState, a NumPy"
        " Generator",
        _convert_random_state,
    )
)
COLUMN = Domain("str or int", "a str or an int", _convert_column)
COLUMNS = optional(
    Domain(
        "list of str and int",
        "a list of column names and column numbers >= 0",
        _convert_columns,
    )
)
CATEGORICAL_FEATURE = Domain(
    "'auto', None, int, str or list of str and int",
    "'auto', None or a list of column names and column numbers >= 0 (or a number, or a"
    " str like '0,1' or 'name:a,b'), where 'auto' chooses the columns of a data frame"
    " by their dtype",
    _convert_categorical,
    is_list=True,
)
_BY_NAME = "'name:' and the name"
FILE_COLUMN = Domain(
    "int or str",
    f"the number of a column of the file (an int >= 0), or {_BY_NAME} of one",
    _file_columns(may_be_list=False),
)
FILE_COLUMNS = Domain(
    "int, str or list",
    f"numbers of columns of the file (a list, or a str like '0,1'), or {_BY_NAME}s of"
    " some (like 'name:a,b')",
    _file_columns(may_be_list=True),
)
MONOTONE_CONSTRAINTS = _by_column(
    Domain("int", "-1, 0 or 1", _convert_sign), "the values -1, 0 or 1"
)
FEATURE_CONTRI = _by_column(NOT_NEGATIVE, "floats >= 0")
MAX_BIN_BY_FEATURE = _by_column(integer(2, 65535), "ints from 2 to 65535")
INTERACTION_CONSTRAINTS = Domain(
    "list of lists of str and int, str or None",
    "None, 'pairwise', 'no_interactions', or a list of non-empty lists of column"
    " names and numbers (or a str like '[0,1],[2]')",
    _convert_sets_of_columns,
    is_list=True,
)
DATE_PARTS = (
    *("month", "day", "day_of_week", "day_of_year"),
    *("hour", "minute", "second"),
)
_DATE_PARTS = ", ".join(map(repr, DATE_PARTS))
DATE_FEATURES = Domain(
    "'auto', False or list of str",
    f"'auto', False or a list of some of {_DATE_PARTS}",
    _convert_date_features,
    is_list=True,
)
DATE_PARTS_OR_AUTO = Domain(
    "'auto' or list of str",
    f"'auto' or a list of some of {_DATE_PARTS}",
    _convert_date_parts,
)
FORCED_SPLITS = Domain(
    "dict, str, path or None",
    "None, the name of a JSON file, or a dict",
    _contents(Mapping),
)
FORCED_BINS = Domain(
    "list of dict, dict, str, path or None",
    "None, the name of a JSON file, a list of dicts or a dict",
    _contents(Mapping, list, tuple),
)
METRIC = Domain(
    "str, callable, list of them or None",
    "None, a str, a callable or a list of them",
    _convert_metric,
    is_list=True,
)
EVAL_AT = Domain(
    "int or list of int",
    "an int >= 1 or a list of ints >= 1",
    _tuple_of(integer(1)),
    is_list=True,
)
LABEL_GAIN = optional(
    Domain(
        "list of float",
        "a list of floats >= 0",
        _tuple_of(NOT_NEGATIVE),
        is_list=True,
    )
)
NUMBERS = Domain("list of float", "a list of floats", _tuple_of(real()), is_list=True)
AUC_MU_WEIGHTS = optional(NUMBERS)
MIN_DELTA = Domain(
    "float or list of float",
    "a float >= 0 or a list of floats >= 0",
    _convert_min_delta,
)
