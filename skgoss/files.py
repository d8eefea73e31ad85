"""Model files: from a model to text and back."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skgoss._messages import warn
from skgoss.data import values
from skgoss.data.categories import Categories, Vocabulary
from skgoss.data.columns import Columns
from skgoss.data.sparse import INT32_MAX
from skgoss.model import text
from skgoss.model.category_sets import members, renamed, taken
from skgoss.model.ensemble import Ensemble
from skgoss.model.header import Header
from skgoss.model.trees import CATEGORICAL, Sets
from skgoss.training.objectives import ALIASES, Link, make_link

if TYPE_CHECKING:
    from skgoss.booster import Booster

# The version of our own line.
VERSION = 1


# --- Files ----------------------------------------------------------------------------


def content(path: str | PathLike[str]) -> bytes:
    """The content of a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with open(os.fspath(path), "rb") as file:
        return file.read()


@contextmanager
def named(path: str | PathLike[str]) -> Iterator[None]:
    """Let errors of the block begin with the name of the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def save(path: str | PathLike[str], content: str) -> None:
    """Write a file, at once: if anything fails, an earlier file is unchanged."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", folder)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "This is a folder", target)
    if os.path.exists(target) and not os.path.isfile(target):
        # Nothing can take the place of a device or a pipe.
        with open(target, "wb") as file:
            file.write(content.encode())
        return
    draft = os.path.join(folder, f".{name[:100]}.{uuid.uuid4().hex}")
    try:
        with open(draft, "xb") as file:
            file.write(content.encode())
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(draft)
        raise


# --- Writing --------------------------------------------------------------------------


def render(booster: Booster, start: int, stop: int, importance: str) -> str:
    """Write some rounds of a model as text.

    Raises
    ------
    TypeError
        If a category or class is of a type that text cannot hold.

    Warns
    -----
    UserWarning
        If parameters of the estimator are left out, because text cannot hold them.
    """
    state = booster._knowledge()
    # A part of the rounds has no best one, unless it is the last of them.
    if start > 0 or stop < state["best_iteration"]:
        state["best_iteration"] = 0
    # Other readers find foreign lists of categories where they were.
    is_foreign = booster._categories.unplaced is not None
    return text.write(
        booster._ensemble,
        replace(booster._header, own=_own(state)),
        start_round=start,
        stop_round=stop,
        importance=importance,
        categories=None if is_foreign else booster._categories,
    )


def _own(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model beside its trees, of JSON's types."""
    if callable(state["objective"]):
        state["objective"] = None
    if state["origin"] is not None:
        state["origin"] = _writable(state["origin"])
        _check_classes(state["origin"]["classes"])
    _check_categories(state["categories"]["vocabularies"])
    return {"version": VERSION, **values.encode(state)}


def _writable(origin: dict[str, Any]) -> dict[str, Any]:
    """The state of the estimator, without parameters that text cannot hold."""
    lost: list[str] = []
    kept = {}
    for name in ("parameters", "unused"):
        given = origin[name]
        lost += (words := [word for word in given if not _can_be_written(given[word])])
        kept[name] = {word: given[word] for word in given if word not in words}
    if lost:
        warn(
            f"These parameters cannot be written as text: {', '.join(lost)}. The file"
            " leaves them out; pickle keeps them."
        )
    return origin | kept


def _can_be_written(value: Any) -> bool:
    try:
        values.encode(value)
    except TypeError:
        return False
    return True


def _check_classes(classes: Any) -> None:
    try:
        values.encode(classes)
    except TypeError as error:
        raise TypeError(f"The classes cannot be written: {error}. Use pickle.") from (
            error
        )


def _check_categories(vocabularies: dict[int, dict[str, Any]]) -> None:
    for column, vocabulary in vocabularies.items():
        try:
            values.encode(vocabulary)
        except TypeError as error:
            raise TypeError(
                f"The categories of column {column} cannot be written: {error}. Turn"
                " them into strings before fit, or use pickle."
            ) from error


# --- Reading --------------------------------------------------------------------------


def parse(content: str | bytes) -> tuple[Ensemble, Header, dict[str, Any]]:
    """Read a model from text.

    Parameters
    ----------
    content : str or bytes

    Returns
    -------
    ensemble : Ensemble
    header : Header
        Without ``own``.
    state : dict
        What else is known of the model: see `Booster._knowledge`.

    Raises
    ------
    ValueError
        If the text is not a model, or contradicts itself.

    Warns
    -----
    UserWarning
        If LightGBM's objective is unknown. Predictions are then raw scores.
    """
    ensemble, header = text.read(content)
    if not header.own:
        return ensemble, header, _foreign(header, ensemble.n_scores)
    own = dict(header.own)
    if own.pop("version", None) != VERSION:
        raise ValueError(
            "the file was written by another version of skgoss, which this one does not"
            " know. Update skgoss."
        )
    state = values.decode(own, "the line of skgoss")
    if isinstance(state.get("best_iteration"), int):
        # Other programs may have left rounds out.
        state["best_iteration"] = min(state["best_iteration"], ensemble.n_rounds)
    return ensemble, replace(header, own={}), state


def _foreign(header: Header, n_scores: int) -> dict[str, Any]:
    """What a file of another library tells beside the trees."""
    objective, link = _objective(header.objective, n_scores)
    return {
        "categories": {
            "declared": [],
            "vocabularies": {},
            "unplaced": header.pandas_categorical,
        },
        "objective": objective,
        "link": {"kind": link.kind, "slope": link.slope},
        "best_iteration": 0,
        "best_score": {},
        "origin": None,
    }


def _objective(words: str, n_scores: int) -> tuple[str | None, Link]:
    """The name and link of an objective; None if it is unknown, or a function."""
    name, constants = text.objective_words(words)
    if not name:
        return None, Link()
    if name not in ALIASES:
        warn(f"The objective {words!r} is not known: predictions are raw scores.")
        return None, Link()
    if constants.get("num_class", n_scores) != n_scores:
        raise ValueError(
            f"the objective is {words!r}, but there are {n_scores} trees a round"
        )
    slope = constants.get("sigmoid", 1.0)
    if not 0.0 < slope < np.inf:
        raise ValueError(f"the objective is {words!r}: sigmoid must be above 0")
    return ALIASES[name], make_link(name, slope, "sqrt" in constants)


# --- Categories -----------------------------------------------------------------------


def numbered(
    ensemble: Ensemble,
    header: Header,
    categories: Categories,
    word_columns: Sequence[int],
    columns: Columns,
) -> tuple[Ensemble, Categories]:
    """Give the categories of a foreign model the numbers that training uses.

    Parameters
    ----------
    ensemble : Ensemble
        Its sets hold whole numbers that are categories themselves, or the places of
        categories in the lists of ``categories``.
    header : Header
    categories : Categories
    word_columns : sequence of int
        The columns of the training set that hold strings or categories.
    columns : Columns
        The training set, as the foreign model reads it.

    Returns
    -------
    ensemble : Ensemble
    categories : Categories
    """
    learned = Categories(set())
    if word_columns:
        learned.vocabularies = {
            j: replace(words, is_ordered=header.feature_infos[j].startswith("["))
            for j, words in categories.placed(word_columns).vocabularies.items()
        }
    arrays = ensemble.arrays
    node = np.flatnonzero(arrays["decision_type"] & CATEGORICAL)
    number = arrays["threshold"][node].astype(np.int64)
    sets = taken(ensemble.sets, number)
    column = arrays["split_feature"][node]
    known = _whole_categories(header.feature_infos, sets, column)
    known = {
        j: np.union1d(known[j], _whole_numbers(columns.stored(j)))
        for j in sorted(known.keys() - learned.vocabularies.keys())
    }
    learned.vocabularies |= {
        j: Vocabulary(words.tolist()) for j, words in known.items()
    }
    threshold = arrays["threshold"].copy()
    threshold[node] = np.arange(len(node))
    ensemble = replace(
        ensemble,
        arrays=arrays | {"threshold": threshold},
        sets=renamed(sets, column, {j: _places(words) for j, words in known.items()}),
    )
    return ensemble, learned


def _whole_categories(
    infos: Sequence[str], sets: Sets, column: NDArray[np.int32]
) -> dict[int, NDArray[np.int64]]:
    """The categories of the columns that have any: those seen, and those in sets."""
    owner, category = members(sets)
    owner = column[owner]
    known = {j: category[owner == j] for j in np.unique(column).tolist()}
    for j, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            seen = np.array(info.split(":"), dtype=np.int64)
            known[j] = np.append(known.get(j, seen), seen)
    return {j: np.unique(words[words >= 0]) for j, words in known.items()}


def _whole_numbers(stored: NDArray[Any]) -> NDArray[np.int64]:
    """The categories among the values of a column; 0 for what a sparse one omits."""
    whole = np.unique(stored[(stored >= 0) & (stored <= INT32_MAX)])
    return np.append(whole[whole == np.floor(whole)].astype(np.int64), 0)


def _places(
    known: NDArray[np.int64],
) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    return lambda categories: np.searchsorted(known, categories)
