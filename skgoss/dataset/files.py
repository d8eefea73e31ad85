"""What a `Dataset` is in files and pickles: plain, checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from skgoss.data import binary, binned_state, text_files
from skgoss.data.dataset import DatasetOptions
from skgoss.data.state import entries
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset import state as dataset_state
from skgoss.dataset.binning import OPTIONS
from skgoss.dataset.fields import CHECKS
from skgoss.parameters import settings as parameters
from skgoss.utils import compat

if TYPE_CHECKING:
    from skgoss.dataset.dataset import Dataset

_STATE = {
    "_binned": (dict, NoneType),
    "_inputs": (dict, NoneType),
    "used_indices": (np.ndarray, NoneType),
    "params": dict,
    **dict.fromkeys(CHECKS, (np.ndarray, NoneType)),
}


def read(dataset: Dataset, path: str | PathLike[str]) -> dict[str, Any]:
    """Read a file of bins or text.

    Parameters
    ----------
    dataset : Dataset
        Its data are this file. It is not changed.
    path : str or path

    Returns
    -------
    dict
        New attributes of the data set.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, or does not fit what is set already.
    """
    reader = _read_bins if binary.is_binary(path) else _read_text
    return reader(dataset, path)


def _read_text(dataset: Dataset, path: str | PathLike[str]) -> dict[str, Any]:
    text = text_files.read(path, dataset._file_options)
    found = _completed(dataset, text._asdict(), text.data.shape[0])
    if issparse(text.data) and dataset.reference is not None:
        # Columns behind the last value of a file are not in it.
        n_features = max(text.data.shape[1], dataset._root.num_feature())
        text.data.resize(text.data.shape[0], n_features)
    if text.names is not None and dataset.feature_name == "auto":
        found["feature_name"] = text.names
    return found | {"data": text.data}


def _read_bins(dataset: Dataset, path: str | PathLike[str]) -> dict[str, Any]:
    binned, content = binary.read(path, compat.n_threads(None))
    owner = f"the file {fspath(path)}"
    known = dataset_state.restored(content, binned, owner)
    held, params = entries(content, {"fields": dict, "params": dict}, owner)
    found = _completed(dataset, held, binned.n_rows)
    asked = parameters.checked_options(dataset.params, OPTIONS, "Dataset")
    changes = known.changes(
        binned, DatasetOptions(**asked), dataset.params, known.categorical, None
    )
    if changes:
        raise ValueError(
            f"The params of the Dataset cannot {' and '.join(changes)}, because {owner}"
            " holds binned data. Create the Dataset from the original data."
        )
    if dataset.feature_name == "auto" and known.names is not None:
        found["feature_name"] = known.names
    if dataset.categorical_feature == "auto":
        found["categorical_feature"] = known.categorical
    params = parameters.canonical(params, owner) | dataset.params
    return found | {
        "data": None,
        "_binned": binned,
        "_inputs": known,
        "params": params,
    }


def _completed(
    dataset: Dataset, found: Mapping[str, Any], n_rows: int
) -> dict[str, Any]:
    """What belongs to the rows: what the user set, and what a file holds beside."""
    own = dataset._fields
    dataset_fields.check(own, n_rows)
    return own | {
        name: dataset_fields.frozen(check(found[name], n_rows))
        for name, check in CHECKS.items()
        if own[name] is None and found.get(name) is not None
    }


def write(dataset: Dataset, path: str | PathLike[str]) -> None:
    """Write a data set that is binned to a file."""
    root = dataset._root
    content = {"fields": dataset._fields, "params": root.get_params()}
    binary.write(path, dataset._binned, dataset_state.plain(root._inputs) | content)


def state(dataset: Dataset) -> dict[str, Any]:
    """The state of a data set for pickles."""
    held = dict(vars(dataset))
    if dataset.used_indices is not None:
        held["_binned"] = None  # the bins are gathered again
    elif dataset._binned is not None:
        held["_binned"] = binned_state.state(dataset._binned)
    if dataset._inputs is not None:
        held["_inputs"] = dataset_state.plain(dataset._inputs)
    return held


def restored(state: Any) -> dict[str, Any]:
    """The attributes of a data set, from its state.

    Raises
    ------
    ValueError
        If an entry is missing, has another type, or contradicts another.
    """
    owner = "the state of Dataset"
    binned, known, rows, *_ = entries(state, _STATE, owner)
    n_rows, held = None, {name: state[name] for name in CHECKS}
    if rows is not None:
        rows = dataset_fields.row_numbers(rows, state["reference"].num_data())
        n_rows = len(rows)
    if binned is not None:
        binned = binned_state.restored(binned)
        n_rows = binned.n_rows
    if known is not None:
        if binned is None:
            raise ValueError(f"{owner} has no bins")
        known = dataset_state.restored(known, binned, owner)
    dataset_fields.check(held, n_rows)
    held = {n: v if v is None else dataset_fields.frozen(v) for n, v in held.items()}
    return {
        **state,
        **held,
        "_binned": binned,
        "_inputs": known,
        "used_indices": rows,
    }
