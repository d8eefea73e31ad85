"""Files of boosters, changed at random: refused by a ValueError, or good for all.

Run as a script it tries mutations until one ends the process or fails, and names each
before it is tried: ``python booster_mutations.py FIRST STOP``.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
import tempfile
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import mutations
import numpy as np
import text_mutations

import skgoss
from skgoss import Booster


def array(dtype: str, *values: Any) -> dict[str, Any]:
    """An array as our line writes it."""
    shape = {"shape": [len(values)], "value": list(values)}
    return {"type": "numpy.ndarray", "dtype": dtype, **shape}


ODD = (
    *(None, True, False, -1, 0, 1, 3, 2**31, 2**40, 10**30, 10**400, 1.5, -0.5, 1e300),
    *("x", "", "nan", "binary", "multiclass", "a\nb", "a]\n[b: c]", "Tree=0", "\ud800"),
    *([], {}, [None], [[]], [1, 1], {"a": 1}, {"a": {"b": 1}}, float("nan"), 1e999),
    *({"type": "builtins.float", "value": word} for word in ("nan", "inf", "-inf")),
    *({"type": "builtins.set", "value": value} for value in ([[]], [1], 3)),
    {"type": "builtins.range", "value": [0, 10**12, 1]},
    {"type": "builtins.tuple", "value": []},
    {"type": "builtins.dict", "keys": [1, None, 2.5], "values": [1, 2, 3]},
    {"type": "decimal.Decimal", "value": "sNaN"},
    {"type": "decimal.Decimal", "value": "1e999999999"},
    {"type": "datetime.date", "value": "2020-01-01"},
    {"type": "pandas.Timestamp", "value": "2020-01-01", "unit": "ns", "zone": "A/B"},
    {"type": "pandas.Timestamp", "value": "NaT", "unit": "ns", "zone": None},
    {"type": "pandas.Interval", "left": "a", "right": 1, "closed": "left"},
    {"type": "numpy.generic", "dtype": "<f8", "value": 3.0},
    {"type": "numpy.generic", "dtype": "<m8[Y]", "value": 2**62},
    {"type": "numpy.generic", "dtype": "<M8[ns]", "value": -(2**63)},
    *(array("<f8", 1.0, 2.0), array("|O", 1, "a"), array("|O", [], {}, None)),
    *(array("<i8", 5, 5), array("<U0", "", ""), array("<M8[D]", 5, 6), array("<c16")),
    array("<i8", 5) | {"shape": []},
    array("<i8") | {"shape": [-1, 0]},
)
OBJECTIVES = (
    *("binary sigmoid:1e-320", "binary sigmoid:inf", "binary sigmoid:x", "binary"),
    *("multiclass num_class:4", "multiclass num_class:nan", "multiclass", "custom", ""),
    *("regression sqrt", "poisson", "cross_entropy", "lambdarank", "huber", "none"),
)
INFOS = (
    *("none", "[0:1]", "[nan:nan]", "[inf:-inf]", "[", "[]", "[1:2:3]", "a", "0", "-1"),
    *("1:2:3", "99999999999", "9999999999:0", "-1:2147483648", "0:0"),
)
PANDAS = (
    *("null", "[]", "[[]]", "[[1,1]]", '[["a","b"]]', '[["a"],[1]]', "[[null,NaN]]"),
    *("[[[1]]]", '[[{"type":"x"}]]', "[[1,true]]", "[[1e400]]", '{"a":1}', "[1]"),
)
PARAMETERS = ("", "nan", "-1", "1e999", "x", "0", "9" * 5000, "1,2", "[1,2]", "-0.0")


@cache
def models() -> list[tuple[Any, Any]]:
    """Fitted models, and rows for them."""
    X, y = mutations.data()
    small = {"n_estimators": 2, "num_leaves": 5, "min_data_per_group": 5}
    models = list(mutations.models())
    signs = skgoss.LGBMRegressor(reg_sqrt=True, monotone_constraints=[1, 0, 0, 0, 0])
    many = skgoss.LGBMClassifier(objective="multiclassova", boosting_type="dart")
    models.append((signs.set_params(**small).fit(X, y), X))
    models.append((many.set_params(**small).fit(X, np.digitize(y, [0, 1, 2])), X))
    return models


@cache
def files() -> list[str]:
    """Their files, and those of old versions of LightGBM."""
    ours = [model.booster_.model_to_string() for model, _ in models()]
    return ours + [file.decode() for file in text_mutations.files()[-3:]]


# --- Changes --------------------------------------------------------------------------


def one_of(values: Sequence[Any], rng: np.random.Generator) -> Any:
    """A copy of one of some values."""
    return copy.deepcopy(values[rng.integers(len(values))])


def with_own(text: str, rng: np.random.Generator) -> str:
    """Another value in our line."""
    match = re.search(r"(?m)^\[skgoss: (\{.*\})\]?$", text)
    if match is None:
        return text
    own = json.loads(match[1])
    places = list(mutations.places(own))
    *path, last = one_of(places, rng)
    owner = own
    for key in path:
        owner = owner[key]
    value = owner[last]
    kind = rng.choice(["absent", "twice", "near", "named", "odd"])
    if kind == "absent":
        del owner[last]
    elif kind == "twice" and isinstance(value, list):
        owner[last] = value * 2
    elif kind == "near" and isinstance(value, int):
        owner[last] = value + int(rng.integers(-3, 4))
    elif kind == "named" and isinstance(owner, dict):
        owner[str(one_of(ODD, rng))[:50]] = one_of(ODD, rng)
    else:
        owner[last] = one_of(ODD, rng)
    return text[: match.start(1)] + json.dumps(own) + text[match.end(1) :]


def with_line(text: str, rng: np.random.Generator) -> str:
    """Other words in a line beside the trees."""
    column = rng.integers(5)
    pattern, values = one_of(
        [
            (r"(?m)^(objective=)(.*)()$", OBJECTIVES),
            (rf"(?m)^(feature_infos=(?:\S+ ){{{column}}})(\S+)()", INFOS),
            (r"(?m)^(pandas_categorical:)(.*)()$", PANDAS),
            (r"(?m)^(\[learning_rate: )(.*)(\])$", PARAMETERS),
            (r"(?m)^(\[boost_from_average: )(.*)(\])$", PARAMETERS),
        ],
        rng,
    )
    value = one_of(values, rng)
    return re.sub(pattern, lambda match: f"{match[1]}{value}{match[3]}", text)


def changed(text: str, rng: np.random.Generator) -> bytes:
    """A file with one or two changes."""
    for change in [with_own, with_line][rng.integers(3) :]:
        text = change(text, rng)
    file = text.encode(errors="surrogateescape")
    return (
        one_of(text_mutations.CHANGES, rng)(file, rng) if rng.random() < 0.3 else file
    )


# --- Trying ---------------------------------------------------------------------------


def use(booster: Booster) -> None:
    """Ask a model for all that reads it."""
    n = booster.num_feature()
    X = np.resize(mutations.data()[0], (9, n))
    X[::4] = -0.5
    try:
        booster.predict(X, pred_leaf=True)
    except ValueError as error:
        # The categories of other libraries' data frames are unknown here.
        if not re.search("holds|columns of strings", str(error)):
            raise AssertionError("a model that was read must predict") from error
        return
    raw = booster.predict(X, raw_score=True)
    assert len(booster.predict(X)) == len(X)
    if booster._model.trees.linear is None and n < 100:
        explained = booster.predict(X, pred_contrib=True).reshape(len(X), -1, n + 1)
        booster.predict(X, pred_interactions=True)
        size = np.abs(booster._model.trees.arrays["leaf_value"]).max(initial=1.0)
        if size < 1e100:
            np.testing.assert_allclose(
                explained.sum(axis=2), raw.reshape(len(X), -1), atol=1e-9 * size
            )
    json.dumps(booster.dump_model())
    if booster.num_trees():
        booster.trees_to_dataframe()
    for kind in ("split", "gain", "cover"):
        booster.feature_importance(kind)
    assert not booster.lower_bound() > booster.upper_bound()
    repr((booster, booster.params, booster.pandas_categorical, booster.feature_name()))
    again = Booster(model_str=booster.model_to_string())
    for other in (again, pickle.loads(pickle.dumps(booster))):
        np.testing.assert_array_equal(other.predict(X, raw_score=True), raw)


def use_estimators(booster: Booster) -> None:
    """Make estimators, where the model is one for them."""
    for kind in (
        *(skgoss.LGBMRegressor, skgoss.LGBMClassifier),
        *(skgoss.LGBMRanker, skgoss.LGBMModel),
    ):
        try:
            model = kind.from_booster(booster)
        except ValueError:
            continue
        again = pickle.loads(pickle.dumps(model))
        repr((again, again.best_score_, again.evals_result_, again.feature_name_))
        again._repr_html_()


def is_refused(number: int, path: Path) -> bool:
    """Whether a mutation is refused; one that is not must serve."""
    rng = np.random.default_rng(number)
    path.write_bytes(changed(one_of(files(), rng), rng))
    print(number, flush=True)
    try:
        booster = Booster(model_file=path)
    except ValueError as error:
        if not str(error).startswith(str(path)):
            raise AssertionError("the message must begin with the file") from error
        return True
    use(booster)
    use_estimators(booster)
    return False


if __name__ == "__main__":
    files()
    with tempfile.TemporaryDirectory() as folder:
        mutations.main(partial(is_refused, path=Path(folder) / "model.txt"))
