"""Binned data with what they were found by: plain in files, checked; joined."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import NoneType
from typing import Any

import numpy as np

from skgoss import parameters
from skgoss.data import binned_state, names
from skgoss.data.categories import Categories
from skgoss.data.dataset import BinnedDataset, DatasetOptions
from skgoss.data.state import entries
from skgoss.dataset.binning import OPTIONS, FoundBy, Reference, by_column
from skgoss.model import estimator_record

_TYPES = {
    "options": dict,
    "categorical_feature": (str, list, NoneType),
    "names": (list, NoneType),
    "feature_names_in_": (list, NoneType),
    "categories": dict,
}


def plain(known: FoundBy) -> dict[str, Any]:
    """What bins were found by, without objects of skgoss."""
    in_frame = getattr(known.columns, "feature_names_in_", None)
    options = asdict(known.options)
    if known.options.max_bin_by_feature is not None:
        bounds = enumerate(known.options.max_bin_by_feature)
        options["max_bin_by_feature"] = {j: m for j, m in bounds if m is not None}
    return {
        "options": options,
        "categorical_feature": known.categorical,
        "names": None if known.names is None else list(map(str, known.names)),
        "feature_names_in_": None if in_frame is None else in_frame.tolist(),
        "categories": known.columns._categories.__getstate__(),
    }


def restored(state: Any, binned: BinnedDataset, owner: str) -> FoundBy:
    """What bins were found by, from its plain state.

    Raises
    ------
    ValueError
        If an entry is missing or has another type, or contradicts the bins.
    """
    options, categorical, given, in_frame, words = entries(state, _TYPES, owner)
    columns = Reference()
    columns.n_features_in_ = binned.n_features
    columns._categories = Categories(None)
    columns._categories.__setstate__(words)
    binned_state.check_categories(binned, columns._categories)
    if in_frame is not None:
        columns.feature_names_in_ = np.array(in_frame, dtype=object)
        estimator_record.check_names(columns.feature_names_in_, binned.n_features)
    if given is not None:
        names.check(_words(given, owner), binned.n_features)
    chosen = parameters.checked_options(
        {**options, "categorical_feature": categorical},
        (*OPTIONS, "categorical_feature"),
        owner,
    )
    categorical = chosen.pop("categorical_feature")
    found = by_column(DatasetOptions(**chosen), binned.n_features, given)
    return FoundBy(found, categorical, columns, given)


def _words(given: list[Any], owner: str) -> list[str]:
    if not all(isinstance(name, str) for name in given):
        raise ValueError(f"'names' of {owner} must be strings")
    return given


Found = tuple[BinnedDataset, FoundBy]


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
    columns = Reference()
    columns.n_features_in_ = both.n_features
    columns._categories = known.columns._categories.joined(
        added.columns._categories, binned.n_features
    )
    names_ = _joined_names(first, second)
    if names_ is not None:
        columns.feature_names_in_ = np.array(names_, dtype=object)
    categorical = sorted(columns._categories.vocabularies)
    options = replace(known.options, max_bin_by_feature=most)
    return both, FoundBy(options, categorical or "auto", columns, names_)


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
