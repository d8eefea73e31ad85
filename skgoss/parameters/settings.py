"""From a user's arguments to settings: names are resolved, values are checked."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from skgoss.data.columns import INT32_MAX
from skgoss.parameters import docstrings
from skgoss.parameters.domains import COLUMNS, Domain
from skgoss.parameters.table import (
    FILE_OPTIONS,
    FIXED_SEEDS,
    ONLY_OURS,
    OPTIONS,
    WITHOUT_EFFECT,
    Option,
)
from skgoss.utils import compat
from skgoss.utils.messages import UnusedParameterWarning, hint, warn

_Value = TypeVar("_Value")

_FORGOTTEN = {word for words in WITHOUT_EFFECT.values() for word in words}

# Options whose names in the signature give way to all others.
_OVERRULED = ("n_estimators", "objective")

_NAME_OF = {
    word: option.name
    for option in OPTIONS
    for word in (option.name, *option.other_names)
}
_OPTION = {option.name: option for option in OPTIONS}

# One value for each column, or values by name or number of the column.
ByColumn = Sequence[_Value] | Mapping[str | int, _Value] | None


@dataclass(frozen=True)
class Settings:
    """The checked values of all options, for one fit. Seeds are resolved."""

    boosting_type: str
    num_leaves: int
    max_depth: int
    learning_rate: float
    n_estimators: int
    subsample_for_bin: int
    objective: str | Callable[..., Any] | None
    class_weight: Mapping[Any, float] | str | None
    min_split_gain: float
    min_child_weight: float
    min_child_samples: int
    subsample: float
    subsample_freq: int
    pos_bagging_fraction: float
    neg_bagging_fraction: float
    bagging_by_query: bool
    data_sample_strategy: str
    top_rate: float
    other_rate: float
    drop_rate: float
    max_drop: int
    skip_drop: float
    uniform_drop: bool
    xgboost_dart_mode: bool
    colsample_bytree: float
    reg_alpha: float
    reg_lambda: float
    random_state: int
    n_jobs: int | None
    importance_type: str
    max_bin: int
    max_bin_by_feature: ByColumn[int]
    min_data_in_bin: int
    use_missing: bool
    zero_as_missing: bool
    feature_pre_filter: bool
    enable_bundle: bool
    max_conflict_rate: float
    is_enable_sparse: bool
    categorical_feature: str | list[str | int] | None
    max_cat_to_onehot: int
    max_cat_threshold: int
    cat_smooth: float
    cat_l2: float
    min_data_per_group: int
    max_delta_step: float
    linear_tree: bool
    linear_lambda: float
    path_smooth: float
    extra_trees: bool
    feature_fraction_bynode: float
    feature_contri: ByColumn[float]
    monotone_constraints: ByColumn[int]
    monotone_constraints_method: str
    monotone_penalty: float
    interaction_constraints: Sequence[Sequence[str | int]] | str | None
    forcedsplits_filename: Sequence[Any] | Mapping[str, Any] | str | None
    boost_from_average: bool
    reg_sqrt: bool
    is_unbalance: bool
    scale_pos_weight: float
    sigmoid: float
    alpha: float
    fair_c: float
    poisson_max_delta_step: float
    tweedie_variance_power: float
    lambdarank_truncation_level: int
    lambdarank_norm: bool
    label_gain: tuple[float, ...] | None
    metric: str | Callable[..., Any] | list[Any] | None
    multi_error_top_k: int
    auc_mu_weights: tuple[float, ...] | None
    eval_at: tuple[int, ...]
    early_stopping_round: int | None
    first_metric_only: bool
    early_stopping_min_delta: float | list[float]
    validation_fraction: float
    refit: bool
    data_random_seed: int
    bagging_seed: int
    feature_fraction_seed: int
    extra_seed: int
    objective_seed: int
    drop_seed: int
    verbosity: int
    deterministic: bool
    force_col_wise: bool
    force_row_wise: bool

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return settings with other values of some options: see `changed`."""
        return changed(self, values)


def _same(first: Any, second: Any) -> bool:
    return first is second or bool(np.array_equal(first, second))


def canonical(
    given: Mapping[str, Any], owner: str, own: Collection[str] = ()
) -> dict[str, Any]:
    """Replace other names of options by the names that estimators show.

    Parameters
    ----------
    given : mapping from names to values
        Unknown names are kept; those in ``WITHOUT_EFFECT`` are left out.
    owner : str
        The estimator's name, for messages.
    own : collection of str, default=()
        Names that are kept, because a subclass may have given them a meaning.

    Returns
    -------
    dict
        The same values under the options' names.

    Raises
    ------
    ValueError
        If two names of one option come with different values.
    """
    resolved: dict[str, Any] = {}
    word_of: dict[str, str] = {}
    for word, value in given.items():
        if word in _FORGOTTEN and word not in own:
            continue
        name = word if word in own else _NAME_OF.get(word, word)
        if name in resolved and not _same(resolved[name], value):
            raise ValueError(
                f"{word_of[name]!r} and {word!r} are names of the same parameter of"
                f" {owner} ({name!r}) but got different values: {resolved[name]!r}"
                f" and {value!r}. Pass one of them."
            )
        resolved.setdefault(name, value)
        word_of.setdefault(name, word)
    return resolved


def by_name(given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """The values of options by their names.

    Parameters
    ----------
    given : mapping from any names of options to values
    owner : str
        Whose parameters they are, for messages.

    Warns
    -----
    UnusedParameterWarning
        For unknown names, and if several names of an option have different values: see
        `complete`.
    """
    options, unused = resolved(given, owner)
    for word in unused:
        _warn_of_unknown(f"{owner} has no parameter {word!r}", hint(word, _NAME_OF))
    return options


def complete(
    estimator: Any, before: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Finish a constructor that has set the arguments of its signature.

    Parameters
    ----------
    estimator : LGBMModel
    before : mapping
        The attributes that a subclass had set before it called this constructor. They
        are kept if the constructor set the default.
    given : mapping from names to values
        The arguments that are not in the signature. Other names of options set the
        options.

    Returns
    -------
    dict
        The values of unknown names.

    Warns
    -----
    UnusedParameterWarning
        For unknown names, and if several names of an option have different values.
        Then the first name in LightGBM's order is used; for ``n_jobs``, the smallest
        number of threads. An argument of the signature counts as given if it differs
        from its default in the estimator's class.
    """
    _keep_attributes(estimator, before)
    owner = estimator._owner
    by_option, unused = _by_option(given)
    signature = inspect.signature(type(estimator).__init__) if by_option else None
    for name, values in by_option.items():
        own, default = getattr(estimator, name), _OPTION[name].default
        if name in signature.parameters:
            default = signature.parameters[name].default
        if not _same(own, default):
            values = {name: own, **values}
        overruled = name if name in _OVERRULED else None
        setattr(estimator, name, _decided(_OPTION[name], values, owner, overruled))
    for word in unused:
        of_fit = " It is an argument of fit." if word in docstrings.FIT else ""
        _warn_of_unknown(
            f"{owner} has no parameter {word!r}", of_fit or hint(word, _NAME_OF)
        )
    return unused


def _keep_attributes(estimator: Any, before: Mapping[str, Any]) -> None:
    if before.keys() >= _OPTION.keys():
        return  # the constructor was called again: these are the earlier values
    for name in before.keys() & _OPTION.keys():
        if _same(getattr(estimator, name), _OPTION[name].default):
            setattr(estimator, name, before[name])


def _by_option(
    given: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The values by option and name, and the values of unknown names."""
    by_option: dict[str, dict[str, Any]] = {}
    unused: dict[str, Any] = {}
    for word, value in given.items():
        if word in _NAME_OF:
            by_option.setdefault(_NAME_OF[word], {})[word] = value
        elif word not in _FORGOTTEN:
            unused[word] = value
    return by_option, unused


def resolved(
    given: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options among arguments of any name.

    Returns
    -------
    options : dict
        Values by the names that estimators show; numbers, where they are strings.
    others : dict
        The values of unknown names.

    Raises
    ------
    TypeError
        If a name is not a str.

    Warns
    -----
    UnusedParameterWarning
        If several names of an option have different values: see `complete`.
    """
    strange = [word for word in given if not isinstance(word, str)]
    if strange:
        raise TypeError(f"The parameters of {owner} have names, got {strange[0]!r}.")
    by_option, others = _by_option(given)
    options = {}
    for name, values in by_option.items():
        option = _OPTION[name]
        numbers = {word: number(option.domain, v) for word, v in values.items()}
        options[name] = _decided(option, numbers, owner)
    return options, others


def _decided(
    option: Option,
    values: Mapping[str, Any],
    owner: str,
    overruled: str | None = None,
) -> Any:
    """The value to use, if several names of an option are given.

    The name ``overruled`` comes last.
    """
    words = sorted(values, key=lambda w: (w == overruled, option.precedence.index(w)))
    valid = all(option.domain.convert(values[w]) is not NotImplemented for w in words)
    if option.name == "n_jobs" and valid:
        words.sort(key=lambda word: compat.allowed_threads(values[word]))
    used = values[words[0]]
    if not all(_same(used, values[word]) for word in words):
        listed = ", ".join(f"{word}={values[word]!r}" for word in words)
        warn(
            f"{owner} got different values for one parameter: {listed}."
            f" {words[0]}={used!r} is used.",
            UnusedParameterWarning,
        )
    return used


def _warn_of_unknown(problem: str, advice: str) -> None:
    warn(f"{problem}: it has no effect.{advice}", UnusedParameterWarning)


def show_inherited(cls: type) -> None:
    """Add the inherited parameters to the signature of a constructor with ``**kwargs``.

    scikit-learn reads the parameters of an estimator from this signature.
    """
    init = vars(cls).get("__init__")
    if init is None:
        return
    signature = inspect.signature(init)
    own = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    if len(own) == len(signature.parameters):
        return
    parent = next(base for base in cls.__mro__[1:] if "__init__" in vars(base))
    inherited = inspect.signature(vars(parent)["__init__"]).parameters
    merged = [*own.values(), *(p for name, p in inherited.items() if name not in own)]
    init.__signature__ = signature.replace(parameters=merged)


def number(domain: Domain, value: Any) -> Any:
    """The value, or the number that a str says if the domain has no such str."""
    is_strange = isinstance(value, str) and domain.convert(value) is NotImplemented
    return _number_or_word(value) if is_strange else value


def checked(option: Option, value: Any, owner: str) -> Any:
    """Return ``value`` as a plain Python object.

    Raises
    ------
    ValueError
        If it is outside the option's domain.
    """
    # Most values are defaults, and a small fit would notice the time of their checks.
    if value is option.default:
        return value
    converted = option.domain.convert(value)
    if converted is NotImplemented:
        raise ValueError(
            f"The {option.name!r} parameter of {owner} must be {option.domain.words}."
            f" Got {value!r} instead."
        )
    return converted


def checked_value(name: str, value: Any, owner: str) -> Any:
    """Return the value of an option as a plain Python object: see `checked`."""
    return checked(_OPTION[name], value, owner)


def checked_options(
    given: Mapping[str, Any], names: Iterable[str], owner: str
) -> dict[str, Any]:
    """The checked values of some options, given by any name, or else their defaults.

    Seeds that are None are derived from ``random_state``, if it is given, or else those
    of LightGBM.

    Raises
    ------
    ValueError
        If a value is outside its domain, or names of one option have different values.
    """
    options = canonical(given, owner)

    def one(name: str) -> Any:
        default = _OPTION[name].default
        return checked(_OPTION[name], options.get(name, default), owner)

    seeds = _derived_seeds(drawn(one("random_state")))
    values = {name: one(name) for name in names}
    return {name: seeds.get(name) if v is None else v for name, v in values.items()}


def file_options(
    given: Mapping[str, Any], owner: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of data files, given by any name, and all others.

    Parameters
    ----------
    given : mapping from names to values
    owner : str
        Whose parameters they are, for messages.

    Raises
    ------
    ValueError
        If a value is outside its domain. The message names the option.
    """
    chosen, rest = {}, dict(given)
    for option in FILE_OPTIONS:
        values = {word: rest.pop(word) for word in option.precedence if word in rest}
        if values:
            value = _decided(option, values, owner)
            chosen[option.name] = checked(option, value, owner)
    return chosen, rest


def from_text(given: Mapping[str, str]) -> dict[str, Any]:
    """Options in a model file, as bools, numbers, strings and lists of them."""
    return {name: _from_text(name, text) for name, text in given.items() if text}


def _from_text(name: str, text: str) -> Any:
    option = _OPTION.get(_NAME_OF.get(name, ""))
    if option is not None and isinstance(option.default, bool):
        return text not in ("0", "False", "false")
    if "," in text and "[" not in text:
        return [_number_or_word(word) for word in text.split(",")]
    return _number_or_word(text)


def _number_or_word(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def settings(values: Mapping[str, Any], owner: str) -> Settings:
    """Check all options and resolve the seeds.

    Parameters
    ----------
    values : mapping
        Values by the names that estimators show. Options that are absent have their
        defaults. A generator in ``random_state`` draws a number.
    owner : str
        Whose options they are, for messages.

    Returns
    -------
    Settings
        One field for each option. Seeds are ints.

    Raises
    ------
    ValueError
        If an option is outside its domain, or options contradict each other.
    """
    values = {
        option.name: checked(option, values.get(option.name, option.default), owner)
        for option in OPTIONS
    }
    if values["boosting_type"] == "goss":
        values |= {"boosting_type": "gbdt", "data_sample_strategy": "goss"}
    _check_together(values, owner)
    return Settings(**{**values, **_seeds(values)})


def _check_together(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if options contradict each other."""
    if values["data_sample_strategy"] == "goss":
        _check_rates(values, owner)
    if values["boosting_type"] == "rf":
        _check_forest(values, owner)
    if values["linear_tree"] and values["zero_as_missing"]:
        raise ValueError(
            f"The 'linear_tree' parameter of {owner} must be False where"
            " zero_as_missing=True, because linear models need the value 0."
        )


# Options of single trees, which may change from round to round.
CHANGEABLE = frozenset(
    {
        *("learning_rate", "num_leaves", "max_depth", "min_split_gain"),
        *("min_child_weight", "min_child_samples", "reg_alpha", "reg_lambda"),
        *("max_delta_step", "path_smooth", "extra_trees"),
        *("subsample", "subsample_freq", "colsample_bytree", "feature_fraction_bynode"),
        *("pos_bagging_fraction", "neg_bagging_fraction", "top_rate", "other_rate"),
        *("drop_rate", "max_drop", "skip_drop"),
        *("max_cat_to_onehot", "max_cat_threshold", "cat_smooth", "cat_l2"),
        "min_data_per_group",
    }
)


def changed(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with other values of some options.

    Parameters
    ----------
    settings : Settings
    values : mapping
        Values by any name of an option in ``CHANGEABLE``.

    Raises
    ------
    ValueError
        If an option does not belong to single trees, or a value is outside its domain.
    """
    options = canonical(values, "reset_parameter", ["num_class"])
    fixed = options.keys() - CHANGEABLE
    if fixed:
        raise ValueError(
            f"reset_parameter cannot change {min(fixed)!r} during a fit; it can change"
            f" {', '.join(sorted(CHANGEABLE))}."
        )
    for name, value in options.items():
        options[name] = checked(_OPTION[name], value, "reset_parameter")
    _check_together({**vars(settings), **options}, "reset_parameter")
    return dataclasses.replace(settings, **options)


def _least_share(values: Mapping[str, Any]) -> float:
    """The smallest share of rows that bagging draws."""
    names = ("subsample", "pos_bagging_fraction", "neg_bagging_fraction")
    return min(values[name] for name in names)


def _check_forest(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if all trees of a forest would be equal."""
    bags = values["subsample_freq"] > 0 and _least_share(values) < 1
    if not bags and values["colsample_bytree"] == 1:
        raise ValueError(
            f"boosting_type='rf' of {owner} needs trees that differ: set subsample < 1"
            " and subsample_freq > 0, or colsample_bytree < 1."
        )


def _check_rates(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if one-side sampling is not possible with these options."""
    top, other = values["top_rate"], values["other_rate"]
    for name in ("top_rate", "other_rate"):
        if values[name] == 0:
            raise ValueError(
                f"The {name!r} parameter of {owner} must be above 0 for"
                " data_sample_strategy='goss'. Got 0 instead."
            )
    if top + other > 1 + 1e-9:
        raise ValueError(
            f"The sum of the 'top_rate' and 'other_rate' parameters of {owner} must be"
            f" at most 1. Got {top!r} and {other!r}."
        )
    if values["subsample_freq"] > 0 and _least_share(values) < 1:
        raise ValueError(
            f"{owner} cannot use data_sample_strategy='goss' together with subsample"
            " and subsample_freq. Set subsample=1 or subsample_freq=0, or"
            " data_sample_strategy='bagging'."
        )


def n_jobs(given: Mapping[str, Any], default: Any, owner: str) -> int | None:
    """Read the number of threads from the ``**kwargs`` of a prediction.

    Other options have no effect on predictions; unknown names give a warning.
    """
    option = _OPTION["n_jobs"]
    by_option, unused = _by_option(given)
    for word in unused:
        _warn_of_unknown(
            f"Predictions of {owner} have no argument {word!r}",
            hint(word, [*docstrings.PREDICTION, *option.precedence]),
        )
    values = by_option.get("n_jobs", {"n_jobs": default})
    return checked(option, _decided(option, values, owner), owner)


def drawn(source: Any) -> int | None:
    """The number that ``random_state`` stands for, drawn if it is a source of them."""
    if isinstance(source, np.random.RandomState):
        return int(source.randint(INT32_MAX))
    if isinstance(source, np.random.Generator):
        return int(source.integers(INT32_MAX))
    return source


def _seeds(values: Mapping[str, Any]) -> dict[str, int]:
    """The random_state, and the seeds that are given or else derived from it."""
    seed = drawn(values["random_state"])
    explicit = {name: values[name] for name in FIXED_SEEDS if values[name] is not None}
    return {"random_state": seed or 0, **_derived_seeds(seed), **explicit}


def _derived_seeds(seed: int | None) -> Mapping[str, int]:
    """The seeds of single purposes; those of LightGBM if there is no seed."""
    if seed is None:
        return FIXED_SEEDS
    words = np.random.SeedSequence(seed).generate_state(len(FIXED_SEEDS)) >> 1
    return dict(zip(FIXED_SEEDS, words.tolist(), strict=True))


def lightgbm_parameters(settings: Settings) -> dict[str, str]:
    """The options of a fit as LightGBM's model files hold them.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict from str to str
        By LightGBM's main names, without the options that LightGBM does not have.
        Values that its files cannot hold, such as functions, are empty.
    """
    return {
        option.lightgbm: _file_text(option, getattr(settings, option.name))
        for option in OPTIONS
        if option.name not in ONLY_OURS
    }


def _file_text(option: Option, value: Any) -> str:
    """The value of an option in LightGBM's files."""
    if not isinstance(value, list | tuple):
        return _word(value) if value != "auto" else ""
    if option.domain is COLUMNS and any(isinstance(part, str) for part in value):
        return ""  # columns by name, which would need LightGBM's names
    if isinstance(option.default, float):
        return ""  # where we take a list of numbers, LightGBM takes one
    if all(isinstance(part, list | tuple) for part in value):
        return ",".join(f"[{','.join(map(_word, part))}]" for part in value)
    words = list(map(_word, value))
    return ",".join(words) if all(words) else ""


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0")
    # LightGBM writes words between quotes when it reads them, and cuts them at colons.
    is_plain = isinstance(value, str) and value.isprintable()
    return value if is_plain and not {*value} & {*'":\\'} else ""


def documented(cls: type) -> type:
    """Describe the options and the attributes in the docstring of a class."""
    cls.__doc__ = docstrings.filled(
        cls.__doc__ or "",
        parameters=(
            *(
                (o.name, f"{o.domain.type}, default={o.default!r}", o.meaning)
                for o in OPTIONS
            ),
            ("**kwargs", *docstrings.CONSTRUCTOR_KWARGS),
        ),
        attributes=((name, *text) for name, text in docstrings.ATTRIBUTES.items()),
    )
    return cls


def markdown() -> str:
    """The options as a page of the documentation."""
    head = (
        "# Parameters: names, defaults, values and aliases\n\n"
        "These are the parameters of LGBMClassifier, LGBMRegressor, LGBMRanker, `train`"
        " and `cv`. The\nconstructor, `set_params` and the grids of searches accept all"
        " names of a parameter. `get_params`\nreturns the name in the first column."
        " LightGBM's main name is in italics.\n\n"
        "If several names of one parameter have different values, `set_params` raises a"
        " ValueError. The\nconstructor gives an `UnusedParameterWarning` and uses"
        " LightGBM's main name, or else the shortest\nname. There are two exceptions:"
        " for `n_jobs`, the smallest number of threads is used; for\n`n_estimators` and"
        " `objective`, an alias has priority over these names.\n\n"
        "`python docs/parameters.py` writes this page.\n\n"
        "| parameter | default | values | meaning | other names |\n"
        "|---|---|---|---|---|\n"
    )
    rows = "".join(_markdown_row(option) for option in OPTIONS)
    tail = (
        "\n## Accepted, without effect\n\n"
        "These parameters of LightGBM are accepted and have no effect; `get_params`"
        " does not return them.\nUnknown names have no effect either. They give an"
        " `UnusedParameterWarning`, and `get_params`\nreturns them.\n\n"
        "| names | reason |\n|---|---|\n"
    )
    return (
        head
        + rows
        + tail
        + "".join(
            f"| {', '.join(f'`{word}`' for word in words)} | {why} |\n"
            for why, words in WITHOUT_EFFECT.items()
        )
    )


def _markdown_row(option: Option) -> str:
    others = ", ".join(
        f"*{word}*" if word == option.lightgbm else word for word in option.other_names
    )
    meaning = option.meaning.replace("``", "`")
    return (
        f"| `{option.name}` | `{option.default!r}` | {option.domain.words} |"
        f" {meaning} | {others} |\n"
    )
