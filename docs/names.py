"""Write docs/names.md: the public names of LightGBM's estimators, and what is here.

It needs LightGBM and reads the names from its signatures and classes.
"""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd

import skgoss
from skgoss import callback
from skgoss.parameters.other_libraries import NOT_AVAILABLE, WITHOUT_EFFECT
from skgoss.parameters.table import FILE_OPTIONS, OPTIONS

SAME, NO_EFFECT, ABSENT = "same", "accepted, without effect", "not available"
ONLY_OURS = "only in skgoss"
ORDER = (SAME, NO_EFFECT, ABSENT)
ESTIMATORS = ("LGBMModel", "LGBMClassifier", "LGBMRegressor", "LGBMRanker")
CALLBACKS = ("early_stopping", "log_evaluation", "record_evaluation", "reset_parameter")
PREDICTIONS = ("predict", "predict_proba", "decision_function")

# Reasons why names are missing, with LightGBM's main names.
REASONS = {
    "Only for LightGBM's command line.": ("data", "valid"),
    "Fits run on CPUs. For a cluster, use `skgoss.dask`.": (
        *("machines", "local_listen_port", "listen_time_out", "num_machines"),
        "Booster.set_network",
    ),
    **NOT_AVAILABLE,
}
REASON_OF = {name: reason for reason, names in REASONS.items() for name in names}

OF_FILES = (
    "For [text files](text-files.md), in `params` of `Dataset`, `train`, `cv` and"
    " `Booster`."
)

# Remarks on names that are available.
REMARKS = {
    "EarlyStopException": "Also in `skgoss.callback`.",
    "verbosity": "The default is -1: nothing is printed.",
    "class_weight": "'balanced' counts rows by their weights. Classifiers only.",
    "objective": "[All objectives](objectives.md).",
    "eval_set": "Not deprecated.",
    "init_model": "An estimator, a `Booster` or the path to a file.",
    "group": "Or `qid`, the query of each row, in any order.",
    "eval_group": "Or `eval_qid`.",
    "validate_features": "Only affects models from LightGBM's files. Other models"
    " always check names.",
    "callbacks": "[Callbacks](evaluation.md#callbacks-and-the-progress-bar).",
    **dict.fromkeys(
        (
            *("plot_importance", "plot_metric", "plot_split_value_histogram"),
            *("plot_tree", "create_tree_digraph"),
        ),
        "[Plots](plots.md).",
    ),
    **dict.fromkeys(
        [f"Dask{name}" for name in ESTIMATORS[1:]],
        "Also in `skgoss.dask`: [Dask](dask.md).",
    ),
    "sklearn": "A module with the estimators.",
    "callback": "A module with the callbacks.",
    "register_logger": "Messages go to `logging.getLogger('skgoss')`.",
}

Row = tuple[str, str, str]
HEAD: Row = ("LightGBM", "skgoss", "remark")


def cell(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def reason(name: str) -> str:
    """Why a name is missing; each needs a reason."""
    return REASON_OF[name]


def section(title: str, rows: Iterable[Row]) -> str:
    """The names that are the same, and a table of the others by remark."""
    by_remark: dict[tuple[str, str], list[str]] = {}
    for names, found, remark in rows:
        by_remark.setdefault((found, remark), []).append(names)
    same = "; ".join(by_remark.pop((SAME, ""), []))
    others = [("; ".join(names), *remark) for remark, names in by_remark.items()]
    lines = [HEAD, ("---",) * len(HEAD), *others] if others else []
    table = "".join(f"| {' | '.join(line)} |\n".replace("  ", " ") for line in lines)
    paragraph = textwrap.fill(
        f"Same in skgoss: {same}.", 100, break_long_words=False, break_on_hyphens=False
    )
    return f"\n## {title}\n\n{paragraph}\n" + (f"\n{table}" if table else "")


def simple(name: str, is_here: bool) -> Row:
    remark = REMARKS.get(name, "") if is_here else reason(name)
    return f"`{name}`", SAME if is_here else ABSENT, remark


def module_rows() -> Iterator[Row]:
    for name in (*lightgbm.__all__, "sklearn", "callback"):
        yield simple(name, hasattr(skgoss, name))


# --- Parameters -----------------------------------------------------------------------


def status(name: str, main: str) -> tuple[str, str]:
    """The status of a name of the parameter ``main``, and a remark."""
    if any(name in option.names for option in FILE_OPTIONS):
        return SAME, OF_FILES
    for option in OPTIONS:
        if name in option.names:
            no_effect, _, why = " ".join(option.meaning.split()).partition(": ")
            if no_effect == "Has no effect":
                return NO_EFFECT, why[:1].upper() + why[1:]
            return SAME, REMARKS.get(option.name, "")
    for why, names in WITHOUT_EFFECT.items():
        if name in names:
            return NO_EFFECT, why
    return ABSENT, reason(main)


def parameter_rows() -> list[Row]:
    """A row for each parameter, or several if some of its names are missing."""
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    with_aliases = {n for main, names in aliases.items() for n in (main, *names)}
    in_signature = inspect.signature(lightgbm.LGBMModel).parameters
    parameters = [[n] for n in in_signature if n not in with_aliases | {"kwargs"}]
    parameters += [[n, *sorted({*names} - {n})] for n, names in aliases.items()]
    rows = []
    for names in parameters:
        by_status: dict[tuple[str, str], list[str]] = {}
        for name in names:
            by_status.setdefault(status(name, names[0]), []).append(name)
        rows += [(cell(same), *remark) for remark, same in by_status.items()]
    return sorted(rows, key=lambda row: (ORDER.index(row[1]), row[0]))


# --- Arguments ------------------------------------------------------------------------


def arguments(function: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "kwargs")
    }


def owners(module: Any, method: str, argument: str) -> list[str]:
    """The classes with a method that has the argument."""
    return [
        name
        for name in ESTIMATORS
        if argument in arguments(getattr(getattr(module, name), method, lambda: None))
    ]


def argument_rows(*methods: str) -> Iterator[Row]:
    """The arguments of methods: LightGBM's arguments first, then additional ones."""
    for method in methods:
        names = {
            argument: None
            for module in (lightgbm, skgoss)
            for cls in (getattr(module, name) for name in ESTIMATORS)
            if hasattr(cls, method)
            for argument in arguments(getattr(cls, method))
        }
        for name in names:
            yield argument_row(method, name)


def argument_row(method: str, name: str) -> Row:
    theirs, ours = (owners(module, method, name) for module in (lightgbm, skgoss))
    shown = f"`{name}`" if method == "fit" else f"`{method}({name})`"
    if not theirs:
        return shown, ONLY_OURS, only(ours)
    if not ours:
        return shown, ABSENT, reason(name)
    if set(theirs) - set(ours):
        raise AssertionError(f"{method}({name}) is missing in a class")
    return shown, SAME, REMARKS.get(name, only(theirs) if theirs == ours else "")


def only(classes: list[str]) -> str:
    return "" if len(classes) == len(ESTIMATORS) else f"Only in {', '.join(classes)}."


# --- Attributes and methods -----------------------------------------------------------


def fitted(module: Any) -> dict[str, Any]:
    """One fitted estimator of each class, on columns with names."""
    X = pd.DataFrame({"a": np.arange(60.0)})
    y = np.arange(60) % 2
    options = {"n_estimators": 2, "verbose": -1}
    models = {
        "LGBMClassifier": module.LGBMClassifier(**options),
        "LGBMRegressor": module.LGBMRegressor(**options),
        "LGBMRanker": module.LGBMRanker(**options),
    }
    for name, model in models.items():
        model.fit(X, y, **({"group": [60]} if name == "LGBMRanker" else {}))
    return models


def public(model: Any) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name
            for name in (*dir(model), *vars(model))
            if not name.startswith("_") and name not in parameters_of(model)
            if hasattr(model, name)
        }


def parameters_of(model: Any) -> set[str]:
    return {"verbose", *model.get_params()}


def attribute_rows() -> Iterator[Row]:
    theirs, ours = fitted(lightgbm), fitted(skgoss)
    by_class = {name: (public(theirs[name]), public(ours[name])) for name in theirs}
    for name in sorted(set().union(*(a | b for a, b in by_class.values()))):
        in_theirs = [cls for cls, (a, _) in by_class.items() if name in a]
        in_ours = [cls for cls, (_, b) in by_class.items() if name in b]
        yield attribute_row(name, in_theirs, in_ours)


def attribute_row(name: str, theirs: list[str], ours: list[str]) -> Row:
    if not ours:
        return simple(name, False)
    if not theirs:
        return f"`{name}`", ONLY_OURS, ""
    extra = [cls for cls in ours if cls not in theirs]
    return f"`{name}`", SAME, f"Also in {', '.join(extra)}." if extra else ""


# --- Dataset, Booster, train, cv ------------------------------------------------------


def attributes(module: Any) -> dict[str, set[str]]:
    """The public attributes of a Dataset, a Booster and a CVBooster."""
    values = np.arange(100.0)
    data = module.Dataset(values[:, None], values >= 50)
    params = {"objective": "binary", "verbose": -1}
    crossed = module.cv(params, data, 2, nfold=2, return_cvbooster=True)
    trained = module.train(params, data, 2, keep_training_booster=True)
    objects = {"Dataset": data, "Booster": trained, "CVBooster": crossed["cvbooster"]}
    return {
        name: {
            attribute
            for attribute in (*vars(value), *dir(type(value)))
            if not attribute.startswith("_")
            and not callable(getattr(type(value), attribute, None))
        }
        for name, value in objects.items()
    }


def attribute_rows_of_objects() -> Iterator[Row]:
    theirs, ours = attributes(lightgbm), attributes(skgoss)
    for owner, names in theirs.items():
        for name in sorted(names):
            is_here = name in ours[owner]
            remark = "" if is_here else reason(f"{owner}.{name}")
            yield f"`{owner}.{name}`", SAME if is_here else ABSENT, remark


def calls(module: Any) -> dict[str, Callable[..., Any]]:
    """The functions and methods of training, by name; classes for constructors."""
    found: dict[str, Callable[..., Any]] = {"train": module.train, "cv": module.cv}
    for owner in ("Dataset", "Booster", "CVBooster"):
        cls = getattr(module, owner)
        found[owner] = cls
        for name in sorted(dir(cls)):
            member = getattr(cls, name, None)
            if not name.startswith("_") and callable(member):
                found[f"{owner}.{name}"] = member
    return found


def call_rows() -> Iterator[Row]:
    """Each call, its arguments that are missing, and those added."""
    theirs, ours = calls(lightgbm), calls(skgoss)
    for name, function in theirs.items():
        if name not in ours:
            yield f"`{name}`", ABSENT, reason(name)
            continue
        wanted, known = list(arguments(function)), list(arguments(ours[name]))
        added = [argument for argument in known if argument not in wanted]
        remark = f"Also accepts {cell(added)}." if added else ""
        yield f"`{name}()`", SAME, remark
        for argument in wanted:
            if argument not in known:
                yield f"`{name}({argument})`", ABSENT, reason(argument)
    for name, function in ours.items():
        if name not in theirs:
            yield f"`{name}({', '.join(arguments(function))})`", ONLY_OURS, ""


# --- Callbacks ------------------------------------------------------------------------


def callback_rows() -> Iterator[Row]:
    for name in CALLBACKS:
        theirs, ours = (
            list(arguments(getattr(module, name))) for module in (lightgbm, skgoss)
        )
        yield called(name, theirs, ours, "")
    for name in ("CallbackEnv", "EvalResult"):
        theirs, ours = (
            list(arguments(getattr(module, name)))
            for module in (lightgbm.callback, callback)
        )
        yield called(name, theirs, ours, "In `skgoss.callback`.")


def called(name: str, theirs: list[str], ours: list[str], remark: str) -> Row:
    n_theirs = len(theirs)
    if theirs != ours[:n_theirs]:
        raise AssertionError(f"{name} takes {ours}, LightGBM's {theirs}")
    if ours[n_theirs:]:
        remark = f"Also accepts {cell(ours[n_theirs:])}."
    return f"`{name}()`", SAME, remark


def markdown() -> str:
    sections = {
        "Names of the module": module_rows(),
        "Parameters": parameter_rows(),
        "Arguments of fit": argument_rows("fit"),
        "Arguments of predictions": argument_rows(*PREDICTIONS),
        "Attributes and methods of fitted estimators": attribute_rows(),
        "Dataset, Booster, train and cv": call_rows(),
        "Attributes of Dataset, Booster and CVBooster": attribute_rows_of_objects(),
        "Callbacks": callback_rows(),
    }
    head = (
        "# All names of LightGBM's Python API\n\nThis page lists every public name in"
        f" LightGBM's Python API ({lightgbm.__version__})\nand whether skgoss provides"
        " it. Commas separate the aliases of a\nparameter. Functions and methods accept"
        " all of LightGBM's arguments.\n\n"
        "<!-- `python docs/names.py` writes this page. -->\n"
    )
    return head + "".join(map(section, sections, sections.values()))


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(markdown(), encoding="utf-8")
