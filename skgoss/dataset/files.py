"""A `Dataset` in files and pickles: plain values, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike, fspath
from types import NoneType
from typing import Any

import numpy as np

from skgoss import parameters
from skgoss.binning import binary_files, binned_state
from skgoss.binning.binned_dataset import BinnedDataset, DatasetOptions
from skgoss.columns import names
from skgoss.columns.categories import Categories
from skgoss.columns.columns import numbers
from skgoss.columns.schema import ColumnSchema, check_names
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.construct import Binning
from skgoss.dataset.fields import CHECKS
from skgoss.dataset.found_bins import OPTIONS, BinningInputs, by_column
from skgoss.sources import text_files
from skgoss.sources.memory import FileState, Memory
from skgoss.utils import threads
from skgoss.utils.locks import Lock
from skgoss.utils.plain_values import entries

_STATE = {
    "_binned": (dict, NoneType),
    "_inputs": (dict, NoneType),
    "used_indices": (np.ndarray, NoneType),
    "params": dict,
    "data": object,
    "reference": (Binning, NoneType),
    "free_raw_data": object,
    "feature_name": (str, list),
    "categorical_feature": (str, list, NoneType),
    "_file_options": text_files.FileOptions,
    "_lock": Lock,
    **dict.fromkeys(CHECKS, (np.ndarray, NoneType)),
    "_version": int,
    "memory_map": (str, NoneType),
    "_by_name": dict,
}
# Entries that states of earlier versions do not have.
_ADDED: dict[str, Any] = {"_version": 0, "memory_map": None, "_by_name": {}}
# What is found anew in files that are read in batches.
_UNSAVED = {"_source", "_opened", "_mapped"}
_INPUTS = {
    "options": dict,
    "categorical_feature": (str, list, NoneType),
    "names": (list, NoneType),
    "feature_names_in_": (list, NoneType),
    "categories": dict,
}

# --- Files ----------------------------------------------------------------------------


def read(dataset: Binning, data: Any) -> dict[str, Any]:
    """Read a file of bins, or open files of text.

    Parameters
    ----------
    dataset : Dataset
        Its data are these files. It is not changed.
    data : str, path, or list of those
        Several files are text.

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
    is_path = isinstance(data, str | PathLike)
    reader = _read_bins if is_path and binary_files.is_binary(data) else _read_text
    return reader(dataset, data)


def _read_text(dataset: Binning, paths: Any) -> dict[str, Any]:
    """The fields of text files, and how their rows are read in batches."""
    text = text_files.read(paths, _file_options(dataset))
    found = _completed(dataset, text._asdict(), text.data.shape[0])
    if text.data.is_sparse and dataset.reference is not None:
        # Columns behind the last value of a file are not in it.
        text.data.n_columns = max(text.data.n_columns, dataset._root.num_feature())
    if text.names is not None and dataset._own_names is None:
        found["feature_name"] = text.names
    own = dataset._fields
    opened = {name: v for name, v in found.items() if own.get(name) is None}
    return found | {"_source": text.data, "_opened": opened}


def _file_options(dataset: Binning) -> text_files.FileOptions:
    """The options of text files, with the columns that are fields by their names."""
    columns = {
        f"{field}_column": (name,) if isinstance(name, str) else tuple(name)
        for field, name in dataset._by_name.items()
    }
    several = columns.keys() - {"init_score_column"}
    if any(len(columns[option]) > 1 for option in several) or (
        columns.keys() - text_files.FileOptions._fields
    ):
        raise ValueError(
            "label, weight, group and init_score of a text file may be the name of a"
            f" column, and init_score a list of names, but not {dataset._by_name}."
        )
    options = dataset._file_options._replace(**columns)
    return options._replace(header=True) if columns else options


def _read_bins(dataset: Binning, path: str | PathLike[str]) -> dict[str, Any]:
    memory, state = Memory(dataset.memory_map), FileState.of(path)
    binned, content = binary_files.read(path, threads.n_threads(None), memory)
    owner = f"the file {fspath(path)}"
    inputs = _restored_inputs(content, binned, owner)
    (params,) = entries(content, {"params": dict}, owner)
    found = _completed(dataset, content, binned.n_rows)
    asked = parameters.checked_options(dataset.params, OPTIONS, "Dataset")
    changes = inputs.changes(
        binned, DatasetOptions(**asked), dataset.params, inputs.categorical, None
    )
    if changes:
        raise ValueError(
            f"The params of the Dataset cannot {' and '.join(changes)}, because {owner}"
            " holds binned data. Create the Dataset from the original data."
        )
    if dataset._own_names is None and inputs.names is not None:
        found["feature_name"] = inputs.names
    if dataset.categorical_feature == "auto":
        found["categorical_feature"] = inputs.categorical
    params = parameters.canonical(params, owner) | dataset.params
    values = content.get("values")
    if values is not None:
        _check_values(values, binned, owner)
        found["_keeps_values"] = True
    if dataset.memory_map is not None:
        found["_mapped"] = state
    return found | {
        **{"data": values, "_binned": binned},
        **{"_inputs": inputs, "params": params},
    }


def _completed(
    dataset: Binning, found: Mapping[str, Any], n_rows: int
) -> dict[str, Any]:
    """The fields that the user set, and those that only a file holds."""
    own = dataset._fields
    dataset_fields.check(own, n_rows)
    return own | {
        name: np.array(check(found[name], n_rows))
        for name, check in CHECKS.items()
        if own[name] is None and found.get(name) is not None
    }


def write(dataset: Binning, path: str | PathLike[str]) -> None:
    """Write a data set that is binned to a file."""
    root = dataset._root
    fields = {"params": root.get_params(), **_inputs_state(root._inputs)}
    if root.params.get("linear_tree"):
        columns, rows = dataset._values("linear_tree", dataset._schema)
        values = numbers(columns)
        fields["values"] = values if rows is None else values[rows]
    binary_files.write(path, dataset._binned, fields | dataset._fields)


def _check_values(values: Any, binned: BinnedDataset, owner: str) -> None:
    """Check the raw values of a file."""
    shape = binned.n_rows, binned.n_features
    is_right = isinstance(values, np.ndarray) and values.dtype == np.float64
    if not is_right or values.shape != shape:
        raise ValueError(f"'values' of {owner} must be floats of the shape {shape}")


# --- Pickles --------------------------------------------------------------------------


def state(dataset: Binning) -> dict[str, Any]:
    """The state of a data set for pickles."""
    held = {name: v for name, v in vars(dataset).items() if name not in _UNSAVED}
    if dataset.used_indices is not None:
        held["_binned"] = None  # the bins are gathered again
    elif dataset._binned is not None:
        held["_binned"] = binned_state.state(dataset._binned)
    if dataset._inputs is not None:
        held["_inputs"] = _inputs_state(dataset._inputs)
    return held


def restored(state: Any) -> dict[str, Any]:
    """The attributes of a data set, from its state.

    Raises
    ------
    ValueError
        If an entry is missing, has another type, or contradicts another.
    """
    owner = "the state of Dataset"
    if isinstance(state, dict):
        state = {**_ADDED, **state}
    binned, inputs, rows, *_ = entries(state, _STATE, owner)
    n_rows, held = None, {name: state[name] for name in CHECKS}
    if rows is not None:
        rows = dataset_fields.row_numbers(rows, state["reference"].num_data())
        n_rows = len(rows)
    if binned is not None:
        binned = binned_state.restored(binned)
        n_rows = binned.n_rows
    if inputs is not None:
        if binned is None:
            raise ValueError(f"{owner} has no bins")
        inputs = _restored_inputs(inputs, binned, owner)
    dataset_fields.check(held, n_rows)
    held = {n: v if v is None else np.array(v) for n, v in held.items()}
    new = {"_binned": binned, "_inputs": inputs, "used_indices": rows}
    return {**state, **held, **new}


# --- What bins were found with --------------------------------------------------------


def _inputs_state(inputs: BinningInputs) -> dict[str, Any]:
    """The state of `BinningInputs`, without objects of skgoss."""
    column_names = inputs.schema.feature_names
    options = asdict(inputs.options)
    if inputs.options.max_bin_by_feature is not None:
        bounds = enumerate(inputs.options.max_bin_by_feature)
        options["max_bin_by_feature"] = {j: m for j, m in bounds if m is not None}
    return {
        "options": options,
        "categorical_feature": inputs.categorical,
        "names": None if inputs.names is None else list(map(str, inputs.names)),
        "feature_names_in_": None if column_names is None else column_names.tolist(),
        "categories": inputs.schema.categories.__getstate__(),
    }


def _restored_inputs(state: Any, binned: BinnedDataset, owner: str) -> BinningInputs:
    """The `BinningInputs` of a state; ValueError if they contradict the bins."""
    options, categorical, given, column_names, held = entries(state, _INPUTS, owner)
    categories = Categories(None)
    categories.__setstate__(held)
    binned_state.check_categories(binned, categories)
    if column_names is not None:
        column_names = np.array(column_names, dtype=object)
        check_names(column_names, binned.n_features)
    if given is not None:
        if not all(isinstance(name, str) for name in given):
            raise ValueError(f"'names' of {owner} must be strings")
        names.check(given, binned.n_features)
    chosen = parameters.checked_options(
        {**options, "categorical_feature": categorical},
        (*OPTIONS, "categorical_feature"),
        owner,
    )
    categorical = chosen.pop("categorical_feature")
    found = by_column(DatasetOptions(**chosen), binned.n_features, given)
    schema = ColumnSchema(binned.n_features, column_names, categories)
    return BinningInputs(found, categorical, schema, given)
