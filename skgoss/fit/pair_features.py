"""Which pairs of columns are made: the option ``pair_features``, and `PairFeatures`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skgoss.binning.rows import Rows
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.fit.fit import Fit, PreparedFit
from skgoss.parameters import presets
from skgoss.training.evaluation import EvaluationSet

# The operations of each value of the option, and of the transformer.
OPERATIONS: dict[Any, str] = {"sums": "-+", "products": "*/", "all": "-+*/"}
OPERATIONS[True] = OPERATIONS["all"]

# The measurements behind these numbers are in docs/measured-accuracy.md.
N_COLUMNS = 6
# The fit that compares columns: its rounds, and the most rows that it samples.
_N_ROUNDS = 60
_MAX_ROWS = 30_000


def added(prepared: PreparedFit) -> PreparedFit:
    """The fit with the pairs of its option; ValueError if it cannot have any."""
    value = prepared.data.settings.pair_features
    why = prepared.data.no_pairs()
    if why:
        raise ValueError(f"pair_features={value!r} cannot be used {why}")
    return with_pairs(prepared, pairs_of(best_columns(prepared), value))


def pairs_of(columns: Mapping[int, float], value: Any) -> ComputedColumns:
    """The pairs of some columns, for a value of the option."""
    return ComputedColumns.of_pairs(columns, OPERATIONS[value])


def best_columns(prepared: PreparedFit, n_columns: int = N_COLUMNS) -> dict[int, float]:
    """The numeric columns that reduce the loss most in a quick fit.

    They have their standard deviations. The fit has the default options of trees, so
    that the columns do not depend on those of the user, or of a preset. ``n_columns``
    is the maximum number of them.
    """
    data, settings = prepared.data, prepared.data.settings
    rows = _sampled(data.rows, settings.random_state)
    arguments = replace(data.arguments, callbacks=None, eval_metric=None)
    sampled = data.replaced(rows=rows, fitted=rows, arguments=arguments)
    quick = {**presets.default_trees(), "metric": None, "verbosity": -1}
    fit = Fit.begin(prepared.with_data(sampled).with_options(quick), [])
    gains = data.schema.shared_out(fit.grow(_N_ROUNDS, None).importances("gain"))
    gains[list(data.schema.categories.vocabularies)] = 0.0
    best = np.argsort(-gains, kind="stable")[:n_columns]
    return _deviations(rows, sorted(best[gains[best] > 0].tolist()))


def scales(rows: Rows, columns: Iterable[int], seed: int) -> dict[int, float]:
    """The standard deviations of columns, without those that are constant.

    They are those of the rows that `best_columns` samples.
    """
    return _deviations(_sampled(rows, seed), columns)


def _sampled(rows: Rows, seed: int) -> Rows:
    """The rows of positive weight, or some of them if there are many."""
    rows = rows.without_zero_weights()
    if len(rows) <= _MAX_ROWS:
        return rows
    random = np.random.default_rng(seed)
    return rows.take(np.sort(random.choice(len(rows), _MAX_ROWS, replace=False)))


def _deviations(rows: Rows, columns: Iterable[int]) -> dict[int, float]:
    deviations = {j: _deviation(rows, j) for j in columns}
    return {j: deviation for j, deviation in deviations.items() if deviation > 0}


def _deviation(rows: Rows, column: int) -> float:
    """The standard deviation of the finite values of a column; 0 if it has none."""
    values = rows.values(column)
    is_finite = np.isfinite(values)
    weight = None if rows.weight is None else rows.weight[is_finite]
    values = values[is_finite]
    largest = np.abs(values).max(initial=0.0)
    if not largest:
        return 0.0
    scaled = values / largest
    mean = np.average(scaled, weights=weight)
    return float(largest * np.sqrt(np.average((scaled - mean) ** 2, weights=weight)))


def with_pairs(prepared: PreparedFit, pairs: ComputedColumns) -> PreparedFit:
    """The fit with pairs of columns; its rows are not in bins yet."""
    data = prepared.data.also_computing(pairs, prepared.setup.n_threads)
    return prepared.with_columns(data)


def set_with_pairs(
    named: EvaluationSet, before: PreparedFit, after: PreparedFit
) -> EvaluationSet:
    """An evaluation set with the pairs that a fit has after it was read.

    ``before`` and ``after`` are the fit without and with the pairs.
    """
    if named.rows is before.data.rows:
        return replace(named, rows=after.data.rows)
    pairs = after.data.schema.computed.pairs
    rows = named.rows.also_computing(pairs, after.setup.n_threads)
    return replace(named, rows=rows)
