"""Files and pickles of a `Dataset`."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from types import NoneType
from typing import Any, Self

import numpy as np

from skgoss import parameters
from skgoss.binning import binned_state
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.columns import columns as typed_columns
from skgoss.columns import names
from skgoss.dataset import binary_files
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.binning_inputs import OPTIONS, BinningInputs
from skgoss.dataset.fields import CHECKS, Fields
from skgoss.dataset.preparation import BinnedOnDemand
from skgoss.dataset.raw_data import RawData
from skgoss.parameters import docstrings
from skgoss.sources.memory import FileState, Memory
from skgoss.sources.text_files import FileOptions
from skgoss.utils import thread_counts
from skgoss.utils.locks import Lock
from skgoss.utils.plain_values import Types, entries


@docstrings.describe_chain("The data set.")
class SavedDataset(BinnedOnDemand):
    """Writes a `Dataset` to files and pickles, and reads it."""

    def _open(self) -> None:
        if self._raw.is_binary:
            self._raw.check_all_columns()
            self._read_binary(self._raw.data)
        else:
            super()._open()

    def save_binary(self, filename: str | PathLike[str]) -> Self:
        """Write the binned data with labels, weights and other fields to a file.

        ``Dataset(filename)`` reads it. The file holds the raw data only if ``params``
        has ``linear_tree=True``: the numbers, without categories.

        Parameters
        ----------
        filename : str or path
            The file; an earlier one is replaced.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        binned, root = self._constructed(), self._root
        inputs = root._inputs
        if inputs is None:
            raise ValueError(
                "The Dataset has the bins of an earlier reference. Make it again, with"
                " the new one."
            )
        content = {"params": root.get_params(), **inputs.state()}
        if root.params.get("linear_tree"):
            columns, rows = self._values("linear_tree", self._schema)
            values = typed_columns.numbers(columns)
            content["values"] = values if rows is None else values[rows]
        content["are_bounds"] = self._fields.are_bounds
        binary_files.write(filename, binned, content | self._fields.arrays())
        return self

    def _read_binary(self, path: str | PathLike[str]) -> None:
        """Take bins, fields and options from a file that `save_binary` has written.

        Fields and options that the user has set have priority. ValueError if the
        options need other bins, for which the file has no values.
        """
        memory, mapped = Memory(self.memory_map), FileState.from_path(path)
        binned, content = binary_files.read(path, thread_counts.n_threads(None), memory)
        owner = f"the file {fspath(path)}"
        inputs = BinningInputs.from_state(content, binned, owner)
        (params,) = entries(content, {"params": dict}, owner)
        fields = self._fields.completed(content, binned.n_rows)
        asked = parameters.checked_options(self.params, OPTIONS, "Dataset")
        changes = inputs.changes(
            binned, BinningOptions(**asked), self.params, inputs.categorical, None
        )
        if changes:
            raise ValueError(
                f"The params of the Dataset cannot {' and '.join(changes)}, because"
                f" {owner} holds binned data. Create the Dataset from the original"
                " data."
            )
        values = content.get("values")
        if values is not None:
            _check_values(values, binned, owner)
        if self.categorical_feature == "auto":
            categorical = inputs.categorical
        else:
            categorical = self.categorical_feature
        vars(self).update(
            _raw=replace(self._raw, data=values),
            _fields=fields,
            _binned=binned,
            _inputs=inputs,
            _mapped=None if self.memory_map is None else mapped,
            _passed_names=self._passed_names or inputs.names,
            _keeps_values=self._keeps_values or values is not None,
            params=parameters.canonical(params, owner) | self.params,
            categorical_feature=categorical,
        )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            binned, inputs = self._binned, self._inputs
            if self.used_indices is not None:
                binned = None  # the bins are gathered again
            return {
                **self._fields.arrays(),
                "_are_bounds": self._fields.are_bounds,
                "_by_name": dict(self._fields.columns),
                "_version": self._fields.version,
                "_binned": None if binned is None else binned_state.state(binned),
                "_inputs": None if inputs is None else inputs.state(),
                "_file_options": self._raw.options,
                "_columns": self._raw.columns,
                "data": self._raw.data,
                "feature_name": self._passed_names or "auto",
                **{name: getattr(self, name) for name in _STATE_AS_IS},
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        owner = "the state of Dataset"
        arrays = dict(zip(CHECKS, entries(state, _FIELDS_STATE, owner), strict=True))
        as_is = entries(state, _STATE_AS_IS, owner)
        held = dict(zip(_STATE_AS_IS, as_is, strict=True))
        are_bounds, by_name, version, binned, inputs, options, columns, *of_data = (
            entries(state, _STATE, owner)
        )
        data, passed_names = of_data
        raw, whole = RawData(data, options, columns=columns), held["reference"]
        n_rows = raw.shape[0]
        if held["used_indices"] is not None:
            if whole is None:
                raise ValueError(f"{owner} has 'used_indices', but no 'reference'")
            rows = dataset_fields.row_numbers(held["used_indices"], whole.num_data())
            held["used_indices"], n_rows = rows, len(rows)
        if binned is not None:
            binned = binned_state.restored(binned)
            n_rows = binned.n_rows
        if inputs is not None:
            if binned is None:
                raise ValueError(f"{owner} has no bins")
            inputs = BinningInputs.from_state(inputs, binned, owner)
        try:
            passed_names = names.checked(passed_names)
        except TypeError as error:
            raise ValueError(f"{owner}: {error}") from error
        fields = Fields(columns=by_name, version=version)
        fields = fields.completed(arrays | {"are_bounds": are_bounds}, n_rows)
        vars(self).update(
            held,
            _fields=fields,
            _binned=binned,
            _inputs=inputs,
            _raw=raw,
            _mapped=None,
            _passed_names=passed_names,
        )


# The entries of a state: fields, attributes as they are, and values in another form.
_FIELDS_STATE: Types = dict.fromkeys(CHECKS, (np.ndarray, NoneType))
_STATE_AS_IS: Types = {
    "reference": (BinnedOnDemand, NoneType),
    "used_indices": (np.ndarray, NoneType),
    "params": dict,
    "free_raw_data": object,
    "categorical_feature": (str, list, NoneType),
    "memory_map": (str, NoneType),
    "_keeps_values": bool,
    "_lock": Lock,
}
_STATE: Types = {
    "_are_bounds": (bool, NoneType),
    "_by_name": dict,
    "_version": int,
    "_binned": (dict, NoneType),
    "_inputs": (dict, NoneType),
    "_file_options": FileOptions,
    "_columns": (tuple, NoneType),
    "data": object,
    "feature_name": (str, list),
}


def _check_values(values: Any, binned: BinnedDataset, owner: str) -> None:
    """Check the raw values of a file: floats, (n_rows, n_features)."""
    shape = binned.n_rows, binned.n_features
    has_type = isinstance(values, np.ndarray) and values.dtype == np.float64
    if not has_type or values.shape != shape:
        raise ValueError(f"'values' of {owner} must be floats of the shape {shape}")
