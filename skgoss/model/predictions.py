"""What predictions return: predictions, raw scores, leaves or SHAP values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgoss import parameters
from skgoss._engine.objectives import link_kernels
from skgoss.columns import containers, dataframes, names
from skgoss.columns.columns import Columns
from skgoss.columns.schema import ColumnSchema
from skgoss.model import contributions
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.objectives.link import IDENTITY, Link, row_link
from skgoss.sources import input_rows, text_files
from skgoss.sources.source import Source, read, select_columns
from skgoss.utils import disk
from skgoss.utils.messages import (
    each_warning_once,
    errors_at,
    type_name,
    warn,
    warn_unused,
)

Floats = NDArray[np.float64]

PredictionKind = Literal[
    "prediction",
    "probabilities",  # the same, and of one score the probabilities of both classes
    "raw_score",
    "leaf",
    "contributions",
    "interactions",
]


# What the arguments of a prediction ask for.
_KINDS: dict[str, PredictionKind] = {
    "pred_interactions": "interactions",
    "pred_contrib": "contributions",
    "pred_leaf": "leaf",
    "raw_score": "raw_score",
}
_NOTHING = (False,) * len(_KINDS)


def kind(
    raw_score: bool, pred_leaf: bool, pred_contrib: bool, pred_interactions: bool
) -> PredictionKind:
    """The output that the arguments of a prediction ask for.

    Warns if they ask for several: it is the first in the order of ``_KINDS``.
    """
    if raw_score is not False and isinstance(raw_score, str):
        raise TypeError(
            f"raw_score must be a bool, got {raw_score!r}: pass an argument by its"
            " name, such as raw_score=True or pred_contrib=True."
        )
    if raw_score is not False and np.ndim(raw_score):
        raise TypeError(
            f"raw_score must be a bool, got {type_name(raw_score)}: predict takes no y."
        )
    passed = pred_interactions, pred_contrib, pred_leaf, raw_score
    if passed == _NOTHING:
        return "prediction"
    asked = [name for name, value in zip(_KINDS, passed, strict=True) if value]
    if len(asked) > 1:
        warn_unused(f"{' and '.join(asked[1:])}: no effect with {asked[0]}=True.")
    return _KINDS[asked[0]] if asked else "prediction"


def compute(
    model: FittedModel,
    columns: Columns,
    output: PredictionKind,
    rounds: tuple[int, int],
    n_threads: int,
) -> Any:
    """Compute an output for rows, in LightGBM's shapes: see `Booster.predict`.

    ``rounds`` are the first round, and the last plus 1. ``output`` is the kind of
    prediction: see `kind`.
    """
    trees = model.trees
    if rounds[0] == rounds[1] == trees.n_rounds > 0:
        warn(
            f"start_iteration leaves out all {trees.n_rounds} rounds of the model, so"
            " all predictions are equal. Pass a smaller number."
        )
    if output == "leaf":
        return trees.leaves(columns, *rounds, n_threads)
    if output == "contributions":
        return _contributions(trees, model.schema, columns, rounds, n_threads)
    if output == "interactions":
        values = contributions.interactions(trees, columns, *rounds, n_threads)
        for axis in (-2, -1):
            values = model.schema.shared_out(values, axis)
        return values[:, 0] if trees.n_scores == 1 else values
    link = IDENTITY if output == "raw_score" else model.link
    in_kernel = _row_link(model, link, output)
    values = trees.predictions(columns, in_kernel, *rounds, n_threads)
    return linked(values, link, n_threads, is_done=in_kernel is not None)


def staged(
    model: FittedModel, columns: Columns, output: PredictionKind, n_threads: int
) -> Iterator[Floats]:
    """Compute the predictions after each round, from the first complete model on.

    The mean of several models is complete once the first round of each, which holds
    its start score, has been added.
    """
    n_starts = 1 if model.out_of_fold is None else model.out_of_fold.n_starts
    in_kernel = _row_link(model, model.link, output)
    stages = model.trees.staged_predictions(columns, in_kernel, n_threads)
    for values in islice(stages, n_starts - 1, None):
        yield linked(values, model.link, n_threads, is_done=in_kernel is not None)


def _row_link(
    model: FittedModel, link: Link, output: PredictionKind
) -> link_kernels.RowLink | None:
    """The link that the kernel of trees applies itself; None: it cannot.

    ``link`` is that of the model, or the identity for raw scores. Probabilities of two
    classes are made from one score, if ``output`` asks for them and the objective is
    not a function.
    """
    n_scores = model.trees.n_scores
    has_classes = isinstance(model.classes, np.ndarray)
    has_link = isinstance(model.objective, str)
    both = output == "probabilities" and has_classes and has_link and n_scores == 1
    return row_link(link, n_scores, both=both)


def linked(
    values: Floats, link: Link, n_threads: int, *, is_done: bool = False
) -> Floats:
    """Predictions from scores, (n_rows, n_scores): one-dimensional if one per row.

    Quantiles are two-dimensional even if there is only one. With ``is_done``, the
    values are predictions already, and only their shape changes.
    """
    if not is_done:
        values = link(values, n_threads)
    return values[:, 0] if values.shape[1] == 1 and not link.levels else values


def both_classes(positive: Floats, n_threads: int) -> Floats:
    """The probabilities of two classes, (n, 2), from those of the second one."""
    both = np.empty((len(positive), 2))
    of_rows = cast(link_kernels.RowLink, row_link(IDENTITY, 1, both=True))
    of_rows.apply(np.ascontiguousarray(positive)[:, None], 1.0, n_threads, both)
    return both


def largest(values: Floats, n_threads: int) -> NDArray[np.int64]:
    """The number of the largest value of each row, the first of equal ones."""
    number = np.empty(len(values), dtype=np.int64)
    link_kernels.largest(np.ascontiguousarray(values), n_threads, number)
    return number


def _contributions(
    ensemble: Ensemble,
    schema: ColumnSchema,
    columns: Columns,
    span: tuple[int, int],
    n_threads: int,
) -> Any:
    """SHAP values in LightGBM's shapes.

    An array, (n_rows, n_scores * (n_features + 1)); for sparse rows a CSR matrix, or a
    list of one for each score. ``span`` is the first round, and the last plus 1. The
    values of pairs, columns that the model computes, are shared out to their columns.
    """
    if columns.index is not None:
        matrices = contributions.sparse_contributions(
            ensemble, columns, *span, n_threads
        )
        computed, n_features = schema.computed, schema.n_features
        matrices = [computed.shared_out_sparse(m, n_features) for m in matrices]
        return matrices[0] if len(matrices) == 1 else matrices
    values = contributions.contributions(ensemble, columns, *span, n_threads)
    values = schema.shared_out(values)
    return values.reshape(len(values), -1)


# --- The rows to predict --------------------------------------------------------------

# Computes the predictions of columns: arrays, or sparse matrices.
Compute = Callable[[Columns], Any]


@dataclass(frozen=True, eq=False)
class RowReader:
    """How a model reads the rows that it predicts, in memory, batches or files.

    Estimators and Boosters differ in ``by_name``, which tells of rows in memory whether
    their columns are found by names or by positions. Messages name the ``owner``.
    ``params`` returns the parameters of the fit, which may tell the label of files.
    """

    model: FittedModel
    owner: str
    n_threads: int
    by_name: Callable[[Any], bool]
    params: Callable[[], Mapping[str, Any]]
    checks_names: bool = False  # whether names must be those of the training set
    # Whether text files have a header; None: if the columns of the model have names.
    header: bool | None = None

    def columns(self, rows: Any) -> Columns:
        """The columns of rows in memory."""
        if self.checks_names:
            self.model.check_names(rows)
        return containers.columns(
            rows,
            self.model.schema,
            owner=self.owner,
            by_name=self.by_name(rows),
            n_jobs=self.n_threads,
        )

    def loaded(self, X: Any) -> Columns:
        """The columns of rows for what is not computed in batches.

        ValueError if they are read in batches, and may be too large for memory.
        """
        if input_rows.is_file(X):
            X = self._open_file(X)
        return self.columns(input_rows.loaded(X) if input_rows.is_streamed(X) else X)

    def in_batches(
        self, X: Any, compute: Compute, to_parquet: str | PathLike[str] | None = None
    ) -> Any:
        """Predict rows, in batches if they are not in memory.

        ``X`` may be anything that estimators predict. Columns of files that the model
        does not have are not read. With ``to_parquet``, the predictions are written to
        this file, and the result is None. Sparse SHAP values are CSC if ``X`` is, else
        CSR.
        """
        if self.header and not input_rows.is_file(X):
            warn_unused(
                "data_has_header has no effect: data are not the path of a file."
            )
        is_array = isinstance(X, np.ndarray) or dataframes.is_in_memory(X)
        if is_array and to_parquet is None:
            return compute(self.columns(X))
        if input_rows.is_file(X):
            X = self._open_file(X)
        source = input_rows.source(X) if input_rows.is_streamed(X) else None
        if source is not None:
            source = select_columns(source, self.model.schema)
        if to_parquet is not None:
            _write(self._batches(X, source, compute), to_parquet)
            return None
        if source is None:
            values = compute(self.columns(X))
            is_csc = sp.issparse(X) and X.format == "csc"
            return _as_csc(values) if is_csc else values
        return _collected(self._batches(X, source, compute), source.shape[0])

    def _batches(
        self, X: Any, source: Source | None, compute: Compute
    ) -> Iterator[Any]:
        """The predictions of each batch; of all rows if there is no source."""
        if source is None:
            yield compute(self.columns(X))
            return
        if source.shape[0] == 0:
            raise ValueError("data must have a row, but has none.")
        with each_warning_once():
            for batch in read(source):
                with errors_at(batch.location):
                    predicted = compute(self.columns(batch.rows))
                yield predicted

    def _open_file(self, path: Any) -> Source:
        """Open a text file, to read the columns of the model in batches."""
        model, params = self.model, self.params()
        words = ("label_column", "label")
        label = {word: params[word] for word in words if word in params}
        of_files, _ = parameters.file_options(label, "Booster")
        has_header = self.header
        if has_header is None:
            has_header = model.feature_names != names.default(len(model.feature_names))
        infos = model.header.feature_infos
        return text_files.read_features(
            path,
            model.feature_names,
            header=has_header,
            label_column=of_files.get("label_column", ()),
            unused=[j for j, info in enumerate(infos) if info == "none"],
        )


def _collected(batches: Iterator[Any], n_rows: int) -> Any:
    """The predictions of all rows, from those of their batches."""
    start, is_list = 0, False
    wholes: list[Any] = []
    for batch in batches:
        is_list = isinstance(batch, list)
        arrays = batch if is_list else [batch]
        wholes = wholes or [_empty(n_rows, array) for array in arrays]
        for whole, array in zip(wholes, arrays, strict=True):
            if isinstance(whole, list):
                whole.append(array)
            else:
                whole[start : start + len(array)] = array
        start += arrays[0].shape[0]
    out = [sp.vstack(w, "csr") if isinstance(w, list) else w for w in wholes]
    return out if is_list else out[0]


def _as_csc(values: Any) -> Any:
    if isinstance(values, list):
        return list(map(_as_csc, values))
    return values.tocsc() if sp.issparse(values) else values


def _empty(n_rows: int, first: Any) -> Any:
    """An array for all rows; for sparse matrices, a list of those of the batches."""
    if sp.issparse(first):
        return []
    return np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)


def _dense(values: Any) -> Any:
    """Predictions as one dense array; those of several scores side by side."""
    arrays = values if isinstance(values, list) else [values]
    dense = [a if isinstance(a, np.ndarray) else a.toarray() for a in arrays]
    return np.hstack(dense) if isinstance(values, list) else dense[0]


def _write(batches: Iterator[Any], path: str | PathLike[str]) -> None:
    """Write predictions to a Parquet file, batch by batch.

    There is a column for each number of a row. An earlier file stays if this fails.
    """
    import pyarrow
    from pyarrow import parquet

    with disk.atomic_write(path) as file:
        writer = None
        try:
            for batch in batches:
                table = _table(pyarrow, _dense(batch))
                if writer is None:
                    writer = parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()


def _table(pyarrow: Any, values: Any) -> Any:
    """A table of the columns 'prediction', or 'prediction_0' and so on if several."""
    if values.ndim == 1:
        return pyarrow.table({"prediction": values})
    flat = values.reshape(len(values), -1)
    names = [f"prediction_{j}" for j in range(flat.shape[1])]
    return pyarrow.table(list(np.ascontiguousarray(flat.T)), names=names)
