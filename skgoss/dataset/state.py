"""Binned data with what they were found by: plain in files, checked; joined."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import NoneType
from typing import Any

import numpy as np

from skgoss.data import binned_state, names
from skgoss.data.categories import Categories
from skgoss.data.dataset import BinnedDataset, DatasetOptions
from skgoss.data.schema import ColumnSchema, check_names
from skgoss.data.state import entries
from skgoss.dataset.binning import OPTIONS, BinningInputs, by_column
from skgoss.parameters import settings as parameters

_TYPES = {
    "options": dict,
    "categorical_feature": (str, list, NoneType),
    "names": (list, NoneType),
    "feature_names_in_": (list, NoneType),
    "categories": dict,
}


def plain(known: BinningInputs) -> dict[str, Any]:
    """What bins were found by, without objects of skgoss."""
    in_frame = known.schema.feature_names
    options = asdict(known.options)
    if known.options.max_bin_by_feature is not None:
        bounds = enumerate(known.options.max_bin_by_feature)
        options["max_bin_by_feature"] = {j: m for j, m in bounds if m is not None}
    return {
        "options": options,
        "categorical_feature": known.categorical,
        "names": None if known.names is None else list(map(str, known.names)),
        "feature_names_in_": None if in_frame is None else in_frame.tolist(),
        "categories": known.schema.categories.__getstate__(),
    }


def restored(state: Any, binned: BinnedDataset, owner: str) -> BinningInputs:
    """What bins were found by, from its plain state.

    Raises
    ------
    ValueError
        If an entry is missing or has another type, or contradicts the bins.
    """
    options, categorical, given, in_frame, words = entries(state, _TYPES, owner)
    categories = Categories(None)
    categories.__setstate__(words)
    binned_state.check_categories(binned, categories)
    if in_frame is not None:
        in_frame = np.array(in_frame, dtype=object)
        check_names(in_frame, binned.n_features)
    schema = ColumnSchema(binned.n_features, in_frame, categories)
    if given is not None:
        names.check(_words(given, owner), binned.n_features)
    chosen = parameters.checked_options(
        {**options, "categorical_feature": categorical},
        (*OPTIONS, "categorical_feature"),
        owner,
    )
    categorical = chosen.pop("categorical_feature")
    found = by_column(DatasetOptions(**chosen), binned.n_features, given)
    return BinningInputs(found, categorical, schema, given)


def _words(given: list[Any], owner: str) -> list[str]:
    if not all(isinstance(name, str) for name in given):
        raise ValueError(f"'names' of {owner} must be strings")
    return given


Found = tuple[BinnedDataset, BinningInputs]


def joined(first: Found, second: Found, n_threads: int) -> Found:
    """Put the columns of two data sets side by side.

    Names of the second are prefixed with 'D2_' where the first has the same.

    Raises
    ------
    ValueError
        If the data sets do not have the same number of rows.
    """
    (binned, known), (other, added) = first, second
    most = None
    if known.options.max_bin_by_feature or added.options.max_bin_by_feature:
        most = [
            bound
            for data, options in ((binned, known.options), (other, added.options))
            for bound in options.max_bin_by_feature or [None] * data.n_features
        ]
    both = binned.joined(other, known.options, n_threads)
    categories = known.schema.categories.joined(
        added.schema.categories, binned.n_features
    )
    names_ = _joined_names(first, second)
    in_frame = None if names_ is None else np.array(names_, dtype=object)
    schema = ColumnSchema(both.n_features, in_frame, categories)
    categorical = sorted(categories.vocabularies)
    options = replace(known.options, max_bin_by_feature=most)
    return both, BinningInputs(options, categorical or "auto", schema, names_)


def _joined_names(first: Found, second: Found) -> list[str] | None:
    given = [known.names for _, known in (first, second)]
    if given == [None, None]:
        return None
    own, others = (
        list(map(str, names.default(binned.n_features) if n is None else n))
        for (binned, _), n in zip((first, second), given, strict=True)
    )
    for name in others:
        while name in own:
            name = f"D2_{name}"
        own.append(name)
    return own
