"""Model files: from a model to text and back."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from skgoss.model.fitted import FittedModel
from skgoss.model_files import lightgbm_file, text_reader, text_writer
from skgoss.utils import disk, plain_values
from skgoss.utils.messages import warn

# The version of the line in a file that only skgoss reads.
VERSION = 1


# --- Writing --------------------------------------------------------------------------


def render(model: FittedModel, start: int, stop: int, importance: str) -> str:
    """Write the rounds ``start`` to ``stop - 1`` of a model as text.

    ``importance`` is the kind of the importances in the text, such as 'split'.
    TypeError if text cannot hold the type of a category or class. Warns of parameters
    of the estimator that are left out for this reason.
    """
    # A part of the rounds has no metrics and no best round, unless it ends with that.
    if start > 0 or stop < (model.best_iteration or model.trees.n_rounds):
        model = replace(model, best_iteration=0, best_score={}, history={})
    if start > 0 or stop < model.trees.n_rounds:
        model = replace(model, baseline=None, out_of_fold=None)
        spread = None if start > 0 else model.trees.truncated(stop).spread
        model = replace(model, trees=replace(model.trees, spread=spread))
    # Lists of categories in a file of LightGBM are written as they were read.
    is_foreign = model.categories.unplaced is not None
    return text_writer.write(
        model.trees,
        replace(model.header, own=_skgoss_line(model.state_without_trees())),
        start_round=start,
        stop_round=stop,
        importance=importance,
        categories=None if is_foreign else model.categories,
    )


def _skgoss_line(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model without its trees, as JSON's types.

    It is what only skgoss reads in a file. ``state`` is changed. TypeError if a class
    or a category has a type that JSON cannot hold.
    """
    if callable(state["objective"]):
        state["objective"] = None
    if state["origin"] is not None:
        state["origin"] = _writable(state["origin"])
        _check_writable(state["origin"]["classes"], "The classes", "Use pickle.")
    for column, vocabulary in state["categories"]["vocabularies"].items():
        name = f"The categories of column {column}"
        advice = "Turn them into strings before fit, or use pickle."
        _check_writable(vocabulary, name, advice)
    return {"version": VERSION, **plain_values.encode(state)}


def _writable(origin: dict[str, Any]) -> dict[str, Any]:
    """The entry "origin" of a state, without parameters that text cannot hold.

    These are, for example, functions. A warning names them.
    """
    lost: list[str] = []
    kept: dict[str, dict[str, Any]] = {"parameters": {}, "unused": {}}
    for group, values in kept.items():
        for name, value in origin[group].items():
            try:
                plain_values.encode(value)
            except TypeError:
                lost.append(name)
            else:
                values[name] = value
    if lost:
        warn(
            f"These parameters cannot be written as text: {', '.join(lost)}. The file"
            " leaves them out; pickle keeps them."
        )
    return origin | kept


def _check_writable(value: Any, name: str, advice: str) -> None:
    """Raise TypeError if text cannot hold a value.

    The message begins with ``name``, and ends with ``advice``.
    """
    try:
        plain_values.encode(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be written: {error}. {advice}") from error


# --- Reading --------------------------------------------------------------------------


def read(path: str | PathLike[str]) -> FittedModel:
    """Read a model from a file: see `parse`; errors name the file."""
    with disk.errors_name_file(path):
        return parse(disk.content(path))


def parse(content: str | bytes) -> FittedModel:
    """Read a model from text; ValueError if it is not one, or contradicts itself.

    Warns if LightGBM's objective is unknown: predictions are then raw scores.
    """
    trees, header = text_reader.read(content)
    if not header.own:
        state = lightgbm_file.state_without_trees(header, trees.n_scores)
        return FittedModel.assembled(trees, header, state)
    line = dict(header.own)
    if line.pop("version", None) != VERSION:
        raise ValueError(
            "the file was written by another version of skgoss, which this one cannot"
            " read. Update skgoss."
        )
    state = plain_values.decode(line, "the line of skgoss")
    if isinstance(state.get("best_iteration"), int):
        # Another program may have removed rounds.
        state["best_iteration"] = min(state["best_iteration"], trees.n_rounds)
    return FittedModel.assembled(trees, replace(header, own={}), state)
