"""Damaged files and states: each is refused by a ValueError, or good to use.

``python -m helpers.mutations KIND FIRST STOP`` in `tests` tries the mutations of a
kind, one a number, until one ends the process or fails. It names each before it is
tried. The kinds are the keys of `KINDS`: text, booster, binary, dataset, estimator.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import io
import json
import pickle
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import skgoss
from helpers import processes
from helpers.binned import bins, build, trained, with_categories
from helpers.trees import frame
from skgoss import Booster, LGBMRegressor
from skgoss.binning import binned_state
from skgoss.binning.binned_dataset import feature_infos
from skgoss.columns.categories import Categories
from skgoss.dataset import binary_files
from skgoss.model.file_header import Header
from skgoss.model_files import text_reader, text_writer
from skgoss.utils import disk

FILES = Path(__file__).parents[1] / "files"
# A mutation that needs more time or memory fails.
SECONDS = 30
MEMORY = 3 << 30

RNG = np.random.Generator

# --- Odd values -----------------------------------------------------------------------

NUMBERS = (0, 1, -1, 2, 3, 7, 31, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63))
FLOATS = (0.0, -1.0, 0.5, 1e9, -1e300, np.inf, -np.inf, np.nan, 5e-324)
DTYPES = ("f4", "f8", "i1", "u1", "i4", "u4", "i8", "u8", ">i4", ">f8", "U3", "O")
OBJECTS = (
    *(None, True, -1, 2**31, 10**30, 1.5, np.nan, "x", b"x", (), [], {}, set()),
    *([None], [[]], {"a": 1}, {0: None}, object, np.float64(3), np.int64(2)),
    *(np.zeros(3), np.zeros(0), np.zeros((2, 2)), np.array("x"), np.array([None])),
    *(np.ma.masked_array([1, 2], [0, 1]), np.arange(4), np.zeros(2, "i4,f8")),
)


def json_array(dtype: str, *values: Any) -> dict[str, Any]:
    """An array as `values.encode` writes it."""
    shape = {"shape": [len(values)], "value": list(values)}
    return {"type": "numpy.ndarray", "dtype": dtype, **shape}


JSON = (
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
    *(json_array("<f8", 1.0, 2.0), json_array("|O", 1, "a"), json_array("<i8", 5, 5)),
    *(json_array("|O", [], {}, None), json_array("<U0", "", ""), json_array("<c16")),
    json_array("<M8[D]", 5, 6),
    json_array("<i8", 5) | {"shape": []},
    json_array("<i8") | {"shape": [-1, 0]},
)
DIGITS = (
    *(b"0", b"-0", b"1", b"-1", b"2", b"7", b"31", b"32", b"255", b"1.5", b"1e5"),
    *(b"2147483647", b"-2147483648", b"2147483648", b"4294967295", b"4294967296"),
    *(b"1000000000", b"1000000000000", b"9223372036854775807", b"9" * 19, b"9" * 5000),
    *(b"1e999", b"-1e999", b"1e-999", b"inf", b"-inf", b"nan", b"-nan", b"Infinity"),
    *(b"", b"-", b"+1", b".5", b"1.", b"1e", b"0x10", b"1_0", b"x", b"1,2", b"1=2"),
    *(b"1 2", b" ", b"\xff", b"\x00", "٣".encode(), b"null", b"[]", b"{}", b"true"),
)
DEEP = 100_000
NESTED = (
    *(b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b"[" * 500 + b"]" * 500),
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
)


def one_of(values: Sequence[Any], rng: RNG) -> Any:
    """A copy of one of some values."""
    return copy.deepcopy(values[rng.integers(len(values))])


# --- Other bytes ----------------------------------------------------------------------


def flip_bytes(file: bytes, rng: RNG) -> bytes:
    """Other bytes in one to three places."""
    changed = bytearray(file)
    for at in rng.integers(len(file), size=rng.integers(1, 4)):
        changed[at] = rng.choice([rng.integers(256), *b' =\n0-:[]{}",.'])
    return bytes(changed)


def cut(file: bytes, rng: RNG) -> bytes:
    """The beginning, the end, or all but some bytes in the middle."""
    first, last = sorted(rng.integers(len(file) + 1, size=2))
    return one_of([file[:first], file[first:], file[:first] + file[last:]], rng)


def change_numbers(file: bytes, rng: RNG) -> bytes:
    """Odd numbers in place of one to three numbers."""
    for _ in range(rng.integers(1, 4)):
        found = list(re.finditer(rb"-?[0-9][0-9.e+-]*", file))
        if not found:
            return file
        first, last = found[rng.integers(len(found))].span()
        file = file[:first] + one_of(DIGITS, rng) + file[last:]
    return file


def move_lines(file: bytes, rng: RNG) -> bytes:
    """A line that is absent, twice there, or in another place; or some are absent."""
    lines = file.split(b"\n")
    first, second = rng.integers(len(lines), size=2)
    kind = rng.choice(["absent", "twice", "swapped", "all absent"])
    if kind == "absent":
        del lines[first]
    elif kind == "twice":
        lines.insert(second, lines[first])
    elif kind == "swapped":
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[min(first, second) : max(first, second)] = []
    return b"\n".join(lines)


def change_values(file: bytes, rng: RNG) -> bytes:
    """A line with other numbers: repeated ones, or those of another line."""
    lines = file.split(b"\n")
    with_values = [at for at, line in enumerate(lines) if b"=" in line]
    if not with_values:
        return file
    first, second = rng.choice(with_values, size=2)
    key, value = lines[first].split(b"=", 1)
    other = lines[second].split(b"=", 1)[1]
    number = one_of(DIGITS, rng)
    repeated = b" ".join([number] * (value.count(b" ") + 1))
    values = [other, b"", repeated, value + b" " + number]
    lines[first] = key + b"=" + one_of(values, rng)
    return b"\n".join(lines)


def nest_json(file: bytes, rng: RNG) -> bytes:
    """JSON as deep as the stack is not, or of other types."""
    part = one_of((*NESTED, *DIGITS), rng)
    keys = [rb'"model": ', rb'"names": ', rb'"values": ', rb'"3": ', rb"\[skgoss: \]:"]
    key = one_of([*keys, rb"pandas_categorical:"], rng)
    return re.sub(rb"(%s)\S*" % key, lambda match: match[1] + part, file)


def splice(file: bytes, other: bytes, rng: RNG) -> bytes:
    """The beginning of a file and the end of another."""
    return file[: rng.integers(len(file) + 1)] + other[rng.integers(len(other)) :]


CHANGES_OF_BYTES = (flip_bytes, cut, change_numbers)
CHANGES_OF_TEXT = (
    *(*CHANGES_OF_BYTES, change_numbers, move_lines, move_lines),
    *(change_values, nest_json),
)


# --- Other values in states -----------------------------------------------------------


def put(*path: Any) -> Callable[[Any, Any], None]:
    """A function that puts a value at a place of a state."""

    def change(state: Any, value: Any) -> None:
        at(state, path[:-1])[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any, Any], None]:
    """A function that deletes what is at a place of a state."""

    def change(state: Any, value: Any) -> None:
        del at(state, path[:-1])[path[-1]]

    return change


def at(state: Any, path: Sequence[Any]) -> Any:
    """What is at a place of a state."""
    for key in path:
        state = state[key]
    return state


def places(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of keys to all that a state holds."""
    if path:
        yield path
    if isinstance(state, dict | list):
        for key in state if isinstance(state, dict) else range(len(state)):
            yield from places(state[key], (*path, key))


def odd_values(values: np.ndarray, rng: RNG) -> np.ndarray:
    """Odd numbers in one or three places."""
    numbers = NUMBERS + FLOATS if values.dtype.kind == "f" else NUMBERS
    size = rng.choice([1, 3])
    given = np.array([numbers[i] for i in rng.integers(len(numbers), size=size)])
    values = values.copy()
    if values.size and values.dtype.kind in "iuf":
        # Numbers that are too large for the dtype become others.
        with np.errstate(invalid="ignore", over="ignore"):
            values[rng.integers(values.size, size=size)] = given.astype(values.dtype)
    return values


def near_values(values: np.ndarray, rng: RNG) -> np.ndarray:
    """Values that are one or two more or less, or those of another place."""
    values = values.copy()
    if not values.size:
        return values
    at = rng.integers(values.size, size=rng.choice([1, 2, 50]))
    if values.dtype.kind in "iu" and rng.random() < 0.7:
        values[at] += rng.integers(-2, 3, len(at)).astype(values.dtype)
    else:
        values[at] = values[rng.integers(values.size, size=len(at))]
    return values


def other_length(values: np.ndarray, rng: RNG) -> np.ndarray:
    """Values that are left out, or come again."""
    length = rng.choice([0, 1, max(0, len(values) - 1), len(values) + 1, 500])
    return np.resize(values, length)


def other_dtype(values: np.ndarray, rng: RNG) -> np.ndarray:
    """The values, or as many zeros, of another dtype."""
    dtype = np.dtype(one_of(DTYPES, rng))
    with np.errstate(all="ignore"):
        is_number = values.dtype.kind in "iuf"
        return values.astype(dtype) if is_number else np.zeros(len(values), dtype)


def other_layout(values: np.ndarray, rng: RNG) -> np.ndarray:
    """The values, as an array of another kind."""
    return [
        lambda: values[None],
        lambda: values[::2],
        lambda: values[::-1],
        lambda: np.ma.masked_array(values, np.arange(len(values)) < 3),
    ][rng.integers(4)]()


def shuffled(values: np.ndarray, rng: RNG) -> np.ndarray:
    """The values in another order."""
    return rng.permutation(values)


CHANGES_OF_ARRAYS = (
    *(*[odd_values] * 4, *[near_values] * 4),
    *(other_length, other_dtype, other_layout, shuffled),
)


def other_value(value: Any, odd: Sequence[Any], rng: RNG) -> Any:
    """A value in place of another: a similar one, or one of ``odd``."""
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        change = CHANGES_OF_ARRAYS[rng.integers(len(CHANGES_OF_ARRAYS))]
        return change(np.ravel(value), rng)
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    if isinstance(value, list) and rng.random() < 0.25:
        return value * 2
    return one_of(odd, rng)


def change_state(
    state: Any, odd: Sequence[Any], rng: RNG, keys: Sequence[str] | None = None
) -> str:
    """Change one place of a state; tell which, and how.

    Parameters
    ----------
    state : dict or list
    odd : sequence
        Values to put in.
    rng : Generator
    keys : sequence of str, default=None
        The entries of the state that may change; None: all.
    """
    found = [path for path in places(state) if keys is None or path[0] in keys]
    if not found:
        state["new"] = one_of(odd, rng)
        return "named new"
    *path, key = found[rng.integers(len(found))]
    siblings = [other[-1] for other in found if list(other[:-1]) == path]
    owner = at(state, path)
    kind = rng.choice(["absent", "swapped", "named", "other"], p=[0.1, 0.1, 0.1, 0.7])
    if kind == "absent":
        del owner[key]
    elif kind == "swapped":
        other = siblings[rng.integers(len(siblings))]
        owner[key], owner[other] = owner[other], owner[key]
    elif kind == "named" and isinstance(owner, dict):
        owner[str(one_of(odd, rng))[:50]] = one_of(odd, rng)
    else:
        owner[key] = other_value(owner[key], odd, rng)
    return f"{kind} {'/'.join(map(ascii, (*path, key)))}"


# --- Texts of models ------------------------------------------------------------------


@cache
def text_data() -> tuple[np.ndarray, np.ndarray]:
    """Rows with categories 3, 10, 17, ... and missing values, and a target."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 4)), 2)
    X[:, 3] = 7 * rng.integers(0, 30, 200) + 3
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def text_files() -> list[bytes]:
    """Files of skgoss, of each type, and of old versions of LightGBM."""
    X, y = text_data()
    small = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 5}
    category = small | {"categorical_feature": [3], "min_data_per_group": 5}
    words = X.astype(object)
    words[:, 3] = np.where(np.isnan(X[:, 3]), "none", X[:, 3].astype(str))
    forest = small | {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    models = [
        skgoss.LGBMRegressor(**small).fit(X, y, feature_name=["a b", "", "ä", "d"]),
        skgoss.LGBMRegressor(**category).fit(X, y),
        skgoss.LGBMRegressor(linear_tree=True, **category).fit(X, y),
        skgoss.LGBMRegressor(**forest).fit(X, y),
        skgoss.LGBMClassifier(**category).fit(words, np.digitize(y, [0, 1])),
    ]
    old = [path.read_bytes() for path in sorted(FILES.glob("*.txt"))]
    return [text_library(model).encode() for model in models] + old


def text_library(model: skgoss.LGBMModel) -> str:
    """The trees of an estimator, and a header, as text."""
    header = Header(
        model.feature_name_,
        ["[-3:3]", "[-3:3]", "none", "-1:0:1:2"],
        "regression",
        [1, 0, 0, -1],
        {"num_leaves": "5", "learning_rate": "0.1"},
        own={"deep": [{"er": [1, "ä", None]}]},
    )
    return text_writer.write(
        model._model.trees, header, categories=model._model.categories
    )


def damage_text(rng: RNG) -> tuple[str, bytes]:
    """A file with one or two changes of its bytes and lines."""
    file, names = one_of(text_files(), rng), []
    for _ in range(1 + int(rng.random() < 0.2)):
        change = one_of((*CHANGES_OF_TEXT, splice), rng)
        others = [one_of(text_files(), rng)] if change is splice else []
        file = change(file, *others, rng)
        names.append(change.__name__)
    return " ".join(names), file


def use_text(read: tuple[Any, Header]) -> None:
    """Predict, and write the model again."""
    ensemble, header = read
    X = np.resize(text_data()[0], (40, ensemble.n_features))
    X[::7], X[1::7] = -np.inf, -0.5
    scores = ensemble.raw_scores(frame(X))
    assert scores.shape == (40, ensemble.n_scores)
    assert ensemble.leaves(frame(X)).shape == (40, ensemble.n_trees)
    again, other = text_reader.read(text_writer.write(ensemble, header))
    np.testing.assert_array_equal(again.raw_scores(frame(X)), scores)
    said = [json.dumps(vars(part), sort_keys=True) for part in (header, other)]
    assert said[0] == said[1]


# --- Files of boosters ----------------------------------------------------------------

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
def booster_files() -> list[str]:
    """The files of fitted models, and those of old versions of LightGBM."""
    X, y = data()
    small = {"n_estimators": 2, "num_leaves": 5, "min_data_per_group": 5}
    signs = skgoss.LGBMRegressor(reg_sqrt=True, monotone_constraints=[1, 0, 0, 0, 0])
    many = skgoss.LGBMClassifier(objective="multiclassova", boosting_type="dart")
    fitted = [
        *(model for model, _ in models()),
        signs.set_params(**small).fit(X, y),
        many.set_params(**small).fit(X, np.digitize(y, [0, 1, 2])),
    ]
    old = [path.read_text() for path in sorted(FILES.glob("*.txt"))]
    return [model.booster_.model_to_string() for model in fitted] + old


def with_own(file: str, rng: RNG) -> tuple[str, str]:
    """Another value in the line that only skgoss writes."""
    match = re.search(r"(?m)^\[skgoss: (\{.*\})\]?$", file)
    if match is None:
        return "", file
    own = json.loads(match[1])
    name = change_state(own, JSON, rng)
    return name, file[: match.start(1)] + json.dumps(own) + file[match.end(1) :]


def with_line(file: str, rng: RNG) -> tuple[str, str]:
    """Other words in a line outside of the trees."""
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
    return pattern, re.sub(pattern, lambda match: f"{match[1]}{value}{match[3]}", file)


def damage_booster(rng: RNG) -> tuple[str, bytes]:
    """A file with one or two changes outside of the trees, and perhaps of its bytes."""
    file, names = one_of(booster_files(), rng), []
    for change in [with_own, with_line][rng.integers(3) :]:
        name, file = change(file, rng)
        names.append(name)
    damaged = file.encode(errors="surrogateescape")
    if rng.random() < 0.3:
        change_bytes = one_of(CHANGES_OF_TEXT, rng)
        damaged = change_bytes(damaged, rng)
        names.append(change_bytes.__name__)
    return " ".join(names), damaged


def use_booster(booster: Booster) -> None:
    """Ask a model for all that reads it."""
    n = booster.num_feature()
    X = np.resize(data()[0], (9, n))
    X[::4] = -0.5
    try:
        booster.predict(X, pred_leaf=True)
    except ValueError as error:
        # The categories of other libraries' data frames are unknown here.
        if not re.search("holds|columns of strings", str(error)):
            raise AssertionError("a model that was read must predict") from error
    else:
        use_predictions(booster, X)
    use_estimators(booster)


def use_predictions(booster: Booster, X: np.ndarray) -> None:
    """Ask a model that predicts for all that reads it."""
    n = booster.num_feature()
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


# --- Files of binned data -------------------------------------------------------------

MIXED, SPARSE, LISTED, WORDS = range(4)


@cache
def tables() -> list[np.ndarray]:
    """Dense and missing values; many columns of mostly zeros; few such columns."""
    rng = np.random.default_rng(0)
    mixed = np.round(rng.normal(size=(700, 6)), 3)
    mixed[:, 1] = np.round(mixed[:, 1])
    mixed[rng.random(mixed.shape) < 0.1] = np.nan
    mixed[:, 2] = 7.0
    sparse = np.where(rng.random((150, 260)) < 0.1, rng.integers(1, 9, (150, 260)), 0)
    sparse[:, :3] = rng.normal(size=(150, 3)) * 9
    listed = np.where(rng.random((5000, 3)) < 0.01, rng.normal(size=(5000, 3)), 0)
    return [mixed, sparse.astype(float), listed]


@cache
def binary_sections() -> list[binary_files.Sections]:
    """What files hold."""
    data = [build(X, max_bin=1000, min_data_in_bin=1) for X in tables()]
    binned, categories = with_categories(200)
    found = []
    for number, one in enumerate([*data, binned]):
        fields = {
            "label": np.arange(one.n_rows) / 8,
            "names": list("abc"),
            "weight": None,
            "is_odd": np.arange(one.n_rows) % 2 > 0,
            "categories": None if number < WORDS else categories.__getstate__(),
        }
        fields = {} if number == LISTED else fields
        found.append({"data": binned_state.state(one), "fields": fields})
    return found


def file_of(number: int, changed: binary_files.Sections) -> bytes:
    """The file of changed sections, as large as it must be without the change."""
    file = io.BytesIO()
    least = binned_state.claim(binary_sections()[number]["data"])
    binary_files.write_sections(file, changed, least)
    return file.getvalue()


@cache
def good_binary_files() -> list[bytes]:
    """Good files."""
    return [
        file_of(number, sections) for number, sections in enumerate(binary_sections())
    ]


def members_of(file: bytes) -> list[tuple[str, bytes]]:
    """The names and contents of what a zip archive holds."""
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def archive_of(members: Sequence[tuple[str, bytes]], compressed: str = "") -> bytes:
    """The zip archive of members, one of which may be compressed."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            kind = zipfile.ZIP_DEFLATED if name == compressed else zipfile.ZIP_STORED
            archive.writestr(name, content, kind)
    return file.getvalue()


def of_sections(number: int, rng: RNG) -> tuple[str, bytes]:
    """Other arrays, numbers or fields, in a file that is whole."""
    changed = copy.deepcopy(binary_sections()[number])
    names = [
        change_state(changed["data" if rng.random() < 0.8 else "fields"], OBJECTS, rng)
        for _ in range(rng.integers(1, 4))
    ]
    try:
        return " ".join(names), file_of(number, changed)
    except (TypeError, AttributeError):
        # Values that no file can hold.
        return of_sections(number, rng)


def of_header(file: bytes, rng: RNG) -> tuple[str, bytes]:
    """Another value in the member of JSON."""
    members = dict(members_of(file))
    header = json.loads(members["skgoss.json"])
    name = change_state(header, JSON, rng)
    members["skgoss.json"] = json.dumps(header).encode()
    return name, archive_of([*members.items()])


def of_members(file: bytes, rng: RNG) -> tuple[str, bytes]:
    """Other members of the archive, which is whole."""
    members = members_of(file)
    at, other = rng.integers(len(members), size=2)
    name, content = members[at]
    compressed = ""
    kind = rng.choice(
        ["absent", "twice", "renamed", "swapped", "compressed", "bytes", *["npy"] * 6]
    )
    if kind == "absent":
        del members[at]
    elif kind == "twice":
        members.append(members[at])
    elif kind == "renamed":
        members[at] = (one_of([members[other][0] + "x", "data/a", "x"], rng), content)
    elif kind == "swapped":
        members[at] = (name, members[other][1])
        members[other] = (members[other][0], content)
    elif kind == "compressed":
        compressed = name
    elif kind == "bytes" and content:
        members[at] = (name, one_of(CHANGES_OF_BYTES, rng)(content, rng))
    elif content:
        members[at] = (name, other_npy(content, rng))
    return f"{kind} {name}", archive_of(members, compressed)


def other_npy(content: bytes, rng: RNG) -> bytes:
    """An array in a file, with other words before it."""
    head, rest = content[:128], content[128:]
    if rng.random() < 0.2:
        return flip_bytes(head, rng) + rest
    dtypes = [b"<f8", b"|u1", b"|b1", b"<u2", b"<i8", b"<f2", b"|O", b"<U9", b"<f16"]
    shapes = [b"(0,)", b"()", b"(1, 0)", b"(0, 4611686018427387904)", b"(150, 1)"]
    shapes += [b"(%d,)" % number for number in (1, 150, 700, 2**31, 2**62, 9**999)]
    pattern, values = one_of(
        [(rb"(?<=descr': ')[^']*", dtypes), (rb"\([^)]*\)", shapes)], rng
    )
    head = re.sub(pattern, one_of(values, rng), head)
    if rng.random() < 0.9:
        # As long as the header says.
        head = head.rstrip(b" \n")[:127].ljust(127) + b"\n"
    return head + rest


def of_zip(good: bytes, rng: RNG) -> tuple[str, bytes]:
    """Other numbers in what the archive says of its members."""
    file = bytearray(good)
    found = [match.start() for match in re.finditer(rb"PK[\1-\7][\1-\7]", file)]
    for _ in range(rng.integers(1, 3)):
        at, size = one_of(found, rng) + rng.integers(60), int(rng.choice([1, 2, 4, 8]))
        old = int.from_bytes(file[at : at + size], "little")
        near, limit = old + int(rng.integers(-9, 10)), 256**size
        value = one_of([0, 1, 8, len(file), limit - 1, limit // 2, near, near], rng)
        file[at : at + size] = (value % limit).to_bytes(size, "little")
    return f"{at}", bytes(file)


def of_bytes(file: bytes, rng: RNG) -> tuple[str, bytes]:
    """Other bytes, fewer or more."""
    kind = rng.choice(["bytes", "spliced", "longer"], p=[0.8, 0.1, 0.1])
    if kind == "bytes":
        change = one_of(CHANGES_OF_BYTES, rng)
        return change.__name__, change(file, rng)
    if kind == "spliced":
        return kind, splice(file, one_of(good_binary_files(), rng), rng)
    return kind, file + bytes(int(rng.integers(1, 5000)))


def damage_binary(rng: RNG) -> tuple[str, bytes]:
    """A file with other sections, another header, other members or bytes."""
    number = int(rng.integers(len(good_binary_files())))
    if rng.random() < 0.6:
        name, file = of_sections(number, rng)
    else:
        change = one_of([of_header, of_members, of_zip, of_bytes], rng)
        name, file = change(good_binary_files()[number], rng)
    return f"{number} {name}", file


def load_binary(path: Path) -> Any:
    """Binned data and fields, if they agree."""
    binned, fields = binary_files.read(path)
    with disk.errors_name_file(path):
        categories = Categories(None)
        if fields.get("categories") is not None:
            categories.__setstate__(fields["categories"])
        binned_state.check_categories(binned, categories)
    return binned, fields


def use_binary(read: Any) -> None:
    """Train, and ask for all else that reads the bins."""
    binned, fields = read
    ensemble = trained(binned)
    names = [f"x{j}" for j in range(binned.n_features)]
    header = Header(names, feature_infos(binned.ranges()), "regression")
    again, _ = text_reader.read(text_writer.write(ensemble, header))
    assert again.n_trees == ensemble.n_trees
    twice = binned.joined(binned, LGBMRegressor())
    for found in (bins(binned), bins(twice)):
        assert (found.max(axis=1, initial=0) < 65535).all()
    trained(twice)
    assert all(isinstance(name, str) for name in fields)


# --- Files of data sets ---------------------------------------------------------------


@cache
def dataset_files() -> list[bytes]:
    """Files with all fields, names, categories and parameters."""
    X, y = text_data()
    fields = {"weight": y**2 + 1, "group": [150, 50], "init_score": y / 2}
    params = {"max_bin": 31, "max_bin_by_feature": {"b": 5}, "min_data_in_bin": 1}
    params["forcedbins_filename"] = {"c": [0.25, 0.5]}
    data = [
        skgoss.Dataset(X, y, **fields, feature_name=list("abcd"), params=params),
        skgoss.Dataset(X, y, categorical_feature=[3], position=np.arange(200) % 7),
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}" for number in range(len(data))]
        for one, path in zip(data, paths, strict=True):
            one.save_binary(path)
        return [path.read_bytes() for path in paths]


def damage_dataset(rng: RNG) -> tuple[str, bytes]:
    """A file with another header or other members."""
    change = one_of([*[of_header] * 3, of_members], rng)
    return change(one_of(dataset_files(), rng), rng)


def use_dataset(data: skgoss.Dataset) -> None:
    """Train, and ask for all fields."""
    with contextlib.suppress(ValueError):  # of huge labels, and groups of regression
        assert skgoss.train({"num_leaves": 5}, data, 1).num_trees() == 1
    n_rows, n_features = data.num_data(), data.num_feature()
    assert len(data.get_feature_name()) == n_features
    for name in ("label", "weight", "position"):
        values = data.get_field(name)
        assert values is None or values.shape == (n_rows,)
    group = data.get_group()
    assert group is None or group.sum() == n_rows
    repr((data.get_params(), data.get_init_score(), data.categorical_feature))


# --- States of estimators -------------------------------------------------------------


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows and a target that need splits, NaN among the values."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 5)), 2)
    X[:, 3] = rng.integers(0, 40, 300)
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def models() -> list[tuple[Any, np.ndarray]]:
    """A fitted model of each kind, and rows for it."""
    X, y = data()
    many, words = np.digitize(y, [0, 1, 2]), np.where(y > 1, "yes", "no")
    towns = X.astype(object)
    towns[:, 3] = np.where(np.isnan(X[:, 3]), "none", X[:, 3].astype(str))
    small = {"n_estimators": 3, "num_leaves": 9, "min_child_samples": 5}
    large = small | {"num_leaves": 200, "min_child_samples": 1}
    category = small | {"categorical_feature": [3], "min_data_per_group": 5}
    forest = small | {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    queries = np.repeat(np.arange(30), 10)
    weight = 1.0 + np.arange(len(y)) % 3
    return [
        (skgoss.LGBMRegressor(**small).fit(X, y, feature_name=list("abcde")), X),
        (skgoss.LGBMRegressor(**large).fit(X, y), X),
        (skgoss.LGBMRegressor(**category).fit(X, y, eval_set=[(X, y)]), X),
        (skgoss.LGBMRegressor(linear_tree=True, **category).fit(X, y), X),
        (skgoss.LGBMRegressor(**forest).fit(X, y), X),
        (skgoss.LGBMClassifier(**category).fit(towns, many), towns),
        (skgoss.LGBMClassifier(early_stopping_round=2, **small).fit(X, words), X),
        (skgoss.LGBMRanker(**small).fit(X, many, qid=queries), X),
        (skgoss.LGBMRegressor(folds=2, **category).fit(X, y, sample_weight=weight), X),
        (skgoss.LGBMClassifier(folds=2, **small).fit(X, words), X),
    ]


def damage_estimator(rng: RNG) -> tuple[str, Any]:
    """The state of a model with one or two changes of what was learned."""
    number = rng.integers(len(models()))
    model, X = models()[number]
    state, names = copy.deepcopy(model.__getstate__()), []
    for _ in range(1 + int(rng.random() < 0.2)):
        booster, part = state.get("_booster"), rng.random()
        if not isinstance(booster, dict) or part < 0.1:
            names.append(change_state(state, OBJECTS, rng, ["_booster"]))
        elif part < 0.15:
            booster["ensemble"] = one_of(OBJECTS, rng)
            names.append("another ensemble")
        elif isinstance(booster.get("ensemble"), dict) and part < 0.7:
            names.append(change_state(booster["ensemble"], OBJECTS, rng))
        else:
            keys = [key for key in booster if key != "ensemble"]
            names.append(change_state(booster, OBJECTS, rng, keys))
    return f"{number} {' '.join(names)}", (type(model), state, X)


def load_estimator(damaged: Any) -> Any:
    """The estimator of a state, and rows for it."""
    kind, state, X = damaged
    loaded = kind.__new__(kind)
    loaded.__setstate__(state)
    return loaded, X


def use_estimator(loaded: Any) -> None:
    """Ask a model for all that reads its state."""
    model, X = loaded
    if not hasattr(model, "fitted_") or model.n_features_ != X.shape[1]:
        return  # two changes may make a model of more columns: these rows do not fit
    for rows in (X[:3], X):
        leaves = model.predict(rows, pred_leaf=True)
        assert leaves.shape == (len(rows), model._model.trees.n_trees)
        assert len(model.predict(rows, raw_score=True)) == len(rows)
        assert len(model.predict(rows, start_iteration=1)) == len(rows)
    assert model.feature_importances_.shape == (X.shape[1],)
    assert len(model.feature_name_) == X.shape[1]
    assert model.best_iteration_ >= 0
    assert all(tree.n_leaves for tree in model._model.trees.trees)
    copy.deepcopy(model)
    repr((model.best_score_, model._repr_html_(), model.booster_.dump_model()))
    # They are refused, or work.
    with contextlib.suppress(ValueError, AttributeError):
        model.predict_interval(X, coverage=[0.1, 0.9])
    with contextlib.suppress(ValueError, AttributeError):
        model.predict_set(X, coverage=[0.1, 0.9])
    if model._model.trees.linear is None:
        model.predict(X[:3], pred_contrib=True)
        model.predict(X[:3], pred_interactions=True)


# --- Trying ---------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of what is damaged.

    Attributes
    ----------
    damage : callable
        From random numbers to a description, and the damaged file or state.
    load : callable
        Loads it, or raises ValueError. Bytes are written to a file: it takes the path.
    use : callable
        Uses what was loaded, which must serve.
    message : str
        The pattern that errors of ``load`` must begin with. ``{}`` is the path.
    """

    damage: Callable[[RNG], tuple[str, Any]]
    load: Callable[[Any], Any]
    use: Callable[[Any], None]
    message: str = ""


KINDS = {
    "text": Kind(
        damage_text, lambda p: text_reader.read(p.read_bytes()), use_text, r"line \d"
    ),
    "booster": Kind(
        damage_booster, lambda path: Booster(model_file=path), use_booster, "{}: "
    ),
    "binary": Kind(damage_binary, load_binary, use_binary, "{}: "),
    "dataset": Kind(
        damage_dataset, lambda path: skgoss.Dataset(path).construct(), use_dataset
    ),
    "estimator": Kind(damage_estimator, load_estimator, use_estimator),
}


def is_refused(kind: Kind, number: int, path: Path) -> bool:
    """Whether a mutation cannot be loaded; one that can must serve."""
    name, damaged = kind.damage(np.random.default_rng(number))
    print(number, name, flush=True)
    if isinstance(damaged, bytes):
        path.write_bytes(damaged)
        damaged = path
    try:
        loaded = kind.load(damaged)
    except ValueError as error:
        pattern = kind.message.format(re.escape(str(path)))
        if not re.match(pattern, str(error)):
            raise AssertionError(f"the message must begin with {pattern}") from error
        return True
    kind.use(loaded)
    return False


def script(kind: str, first: int, stop: int) -> tuple[str]:
    """The script that tries the mutations of some numbers."""
    lines = (
        "import sys",
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})",
        "from helpers import mutations",
        f"mutations.main({kind!r}, {first}, {stop})",
    )
    return ("\n".join(lines),)


def n_refused(done: processes.Done) -> int:
    """How many mutations a script says were refused; an error if it was ended."""
    last = "".join(done.stdout.splitlines(keepends=True)[-1:])
    assert done.returncode == 0, f"mutation {last}{done.stderr[-3000:]}"
    return int(last.split()[1])


def main(name: str, first: int, stop: int) -> None:
    """Try the mutations of some numbers."""
    kind, refused = KINDS[name], 0
    faulthandler.enable()
    warnings.simplefilter("ignore")
    # What is damaged is made, before memory is limited.
    kind.damage(np.random.default_rng(first))
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, stop):
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            refused += is_refused(kind, number, Path(folder) / "damaged")
        faulthandler.cancel_dump_traceback_later()
    print(f"refused {refused} of {stop - first}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
