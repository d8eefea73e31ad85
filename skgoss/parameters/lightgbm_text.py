"""Options in the text of LightGBM's model files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skgoss.parameters.domains import Option, parse_number
from skgoss.parameters.name_resolution import CANONICAL_NAME, OPTION
from skgoss.parameters.settings import Settings
from skgoss.parameters.table import FILE_OPTIONS, OPTIONS

_OPTIONS = OPTION | {option.name: option for option in FILE_OPTIONS}
# The names of `train` for options that LightGBM's estimators rename for it.
_TRAIN_NAMES = ("num_iterations", "num_threads")


def from_lightgbm(parameters: Mapping[str, str]) -> dict[str, Any]:
    """The values of options in LightGBM's model file, from their texts by name.

    They are bools, numbers, strings and lists of them. Options with an empty text are
    left out. The names stay those of the file.
    """
    return {name: _value(name, text) for name, text in parameters.items() if text}


def _value(name: str, text: str) -> Any:
    """The value of an option in a model file, by the type of its default and domain.

    Without such an option here, or where the text may be a dict (it has a colon), it is
    a number, a str, or a list of them.
    """
    option = _OPTIONS.get(CANONICAL_NAME.get(name, name))
    if option is not None and isinstance(option.default, bool):
        return text not in ("0", "False", "false")
    if option is not None and option.domain.is_list and ":" not in text:
        return _list(option, text)
    if "," in text and "[" not in text:
        return [parse_number(item) for item in text.split(",")]
    return parse_number(text)


def _list(option: Option, text: str) -> Any:
    """A list of numbers, of lists of numbers or of metrics.

    Files leave out the outer brackets. Text that is not JSON within brackets holds the
    names of metrics, or is returned as it is: some options may also be a str.
    """
    try:
        return json.loads(f"[{text}]")
    except ValueError:
        return text.split(",") if option.name == "metric" else text


def with_constructor_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by the names that LightGBM's estimators pass on to `train`.

    These are the names of the constructor, except for those in ``_TRAIN_NAMES``.
    """
    return {
        name if name in _TRAIN_NAMES else CANONICAL_NAME.get(name, name): value
        for name, value in options.items()
    }


def to_lightgbm(settings: Settings) -> dict[str, str]:
    """Return the options of a fit by LightGBM's main names.

    Options that LightGBM does not have are left out. Values that its files cannot hold,
    such as functions, are empty.
    """
    return {
        option.lightgbm: _text(option, getattr(settings, option.name))
        for option in OPTIONS
        if not option.is_added
    }


def _text(option: Option, value: Any) -> str:
    """The text of a value in a model file; '' if files cannot hold it.

    That LightGBM chooses the value ('auto') has no text either.
    """
    if not isinstance(value, list | tuple):
        return _text_of_scalar(value) if value != "auto" else ""
    is_text = any(isinstance(item, str) for item in value)
    if option.name == "categorical_feature" and is_text:
        return ""  # the names of columns in LightGBM's files differ from ours
    if isinstance(option.default, float):
        return ""  # LightGBM takes a single number here, not a list
    if option.name == "forcedsplits_filename":
        return ""  # the contents of a file, which has no name here
    if all(isinstance(item, list | tuple) for item in value):
        return ",".join(f"[{','.join(map(_text_of_scalar, items))}]" for items in value)
    texts = list(map(_text_of_scalar, value))
    return ",".join(texts) if all(texts) else ""


def _text_of_scalar(value: Any) -> str:
    """The text of a bool, number or str; '' if files cannot hold it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0")
    # LightGBM cuts strings at colons, and adds quotes to them when it reads a file.
    is_plain = isinstance(value, str) and value.isprintable()
    return value if is_plain and not {*value} & {*'":\\'} else ""
