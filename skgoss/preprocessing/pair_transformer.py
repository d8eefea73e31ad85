"""The pairs of columns that models compute, as a transformer of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from skgoss import parameters
from skgoss.binning.rows import Rows
from skgoss.columns import containers, dataframes, row_weights
from skgoss.columns.categories import Categories
from skgoss.columns.columns import Columns, numbers
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.names import ColumnFinder
from skgoss.columns.schema import ColumnSchema
from skgoss.fit import fit_data, pair_features
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.fit import PreparedFit
from skgoss.fit.task import Classification, Regression, Task
from skgoss.parameters.domains import COLUMNS, Domain, choice, integer
from skgoss.preprocessing.column_appender import ColumnAppender
from skgoss.preprocessing.frames import (
    check_readable,
    checked,
    in_container,
    named_frame,
)
from skgoss.utils import sklearn_private, thread_counts
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module

# The values of the parameters that are not options of models.
_DOMAINS: dict[str, Domain] = {
    "operations": choice("sums", "products", "all"),
    "n_columns": integer(2),
    "columns": COLUMNS,
    "target_type": choice("auto", "continuous", "binary", "multiclass"),
}
# More whole numbers than these are not classes.
_MAX_CLASSES = 20


@set_module("skgoss")
class PairFeatures(ColumnAppender):
    """Append sums, differences, products and ratios of pairs of columns.

    The columns are those that a model with the option ``pair_features`` computes
    itself. Use this transformer before estimators that have no such option, or to see
    and choose the columns.

    A sum or a difference is that of columns with equal standard deviations: the second
    column is multiplied by a factor, so that the units of the columns do not matter. A
    ratio is missing where the divisor is zero.

    Parameters
    ----------
    operations : {'sums', 'products', 'all'}, default='all'
        What to compute: sums and differences, products and ratios, or all of these.
    n_columns : int, default=6
        The number of columns to make pairs of: those that reduce the loss most in a fit
        of 60 rounds, on at most 30,000 rows. No effect with ``columns``.
    columns : list of str and int, default=None
        Names or numbers of the columns to make pairs of. None: ``fit`` chooses
        ``n_columns`` of them, and needs ``y``.
    target_type : {'auto', 'continuous', 'binary', 'multiclass'}, default='auto'
        Whether ``y`` holds numbers or classes. 'auto': as
        `sklearn.utils.multiclass.type_of_target` says, for which whole numbers are
        classes, but not if there are more than 20 of them. No effect with ``columns``.
    random_state : int, RandomState or Generator, default=None
        Seed for the sample of rows.
    n_jobs : int, default=None
        The number of threads, as in `LGBMModel`.

    Attributes
    ----------
    columns_ : list of str or int
        The columns that pairs are made of: names, or numbers if ``X`` has no names.
        Columns that are constant have no pairs.
    pairs_ : list of tuple
        Of each pair: the number of the first column, the operation '-', '+', '*' or
        '/', the factor of the second column, and the number of the second column.
    n_features_in_ : int
        Number of columns of ``X`` in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of ``X``. Defined only if all names are strings.

    See Also
    --------
    LGBMModel : Its option ``pair_features`` makes the columns part of a model, and its
        attribute ``pair_features_`` is the transformer of such a model.
    sklearn.preprocessing.PolynomialFeatures : Products of all columns.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import PairFeatures
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> pairs = PairFeatures("sums", n_columns=2).fit(X, y)
    >>> pairs.get_feature_names_out()[-2:].tolist()
    ['bmi - s5', 'bmi + s5']
    >>> pairs.transform(X).shape
    (442, 12)
    """

    columns_: list[Any]
    pairs_: list[tuple[int, str, float, int]]

    def __init__(
        self,
        operations: Literal["sums", "products", "all"] = "all",
        *,
        n_columns: int = pair_features.N_COLUMNS,
        columns: Sequence[str | int] | None = None,
        target_type: Literal["auto", "continuous", "binary", "multiclass"] = "auto",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.operations = operations
        self.n_columns = n_columns
        self.columns = columns
        self.target_type = target_type
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def _of_model(cls, schema: ColumnSchema, owner: str) -> Self:
        """The transformer that appends the pairs of a model with these columns.

        If the model has dates, it takes what `DateFeatures` makes of them.
        AttributeError if it has no pairs; messages call the model ``owner``.
        """
        symbols = {symbol for _, symbol, *_ in schema.computed.pairs.state()}
        if not symbols:
            raise AttributeError(
                f"This {owner} computes no pairs of columns. Fit an estimator with the"
                " option pair_features, for example LGBMRegressor(pair_features=True)."
            )
        name = next(
            name
            for name, operations in pair_features.OPERATIONS.items()
            if symbols <= set(operations)
        )
        made = cls(name)._become(schema.with_parts_as_columns())
        return made.set_params(columns=made.columns_)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the columns, and find the factors of sums and differences.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The training data. NaN is a missing value. Data frames may have columns of
            strings and categories, which have no pairs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The target. None: only with ``columns``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        ValueError
            If a parameter has an invalid value, or the data cannot be used.
        """
        passed = {
            name: checked(name, getattr(self, name), domain, self._owner)
            for name, domain in _DOMAINS.items()
        }
        if passed["columns"] is None:
            found = self._best(X, y, sample_weight, passed)
            reason = "fewer than two numeric columns reduce the loss of a quick fit"
        else:
            found = self._listed(X, sample_weight, passed["columns"])
            reason = "fewer than two of the columns have different values"
        schema, scales = found
        if len(scales) < 2:
            warn(
                f"{self._owner} appends nothing, because {reason}. Pass more rows, or"
                " list other columns in the parameter columns."
            )
        pairs = pair_features.pairs_of(scales, passed["operations"])
        return self._become(replace(schema, computed=pairs))

    def _best(
        self, X: Any, y: Any, sample_weight: Any, passed: Mapping[str, Any]
    ) -> tuple[ColumnSchema, dict[int, float]]:
        """All columns, and the scales of those that reduce the loss most."""
        if y is None:
            raise ValueError(
                f"This {self._owner} estimator requires y to be passed, but the target"
                " y is None. Without a target, list the columns: columns=[...]."
            )
        options = {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "date_features": False,
        }
        arguments = FitArguments(sample_weight=sample_weight)
        settings = arguments.checked_settings(options, self._owner, X, options)
        training, *_ = input_sets(X, y, arguments, settings)
        task = self._task(y, passed["target_type"])
        data = fit_data.read(training, arguments, settings, task, None, searches=False)
        why = data.no_pairs()
        if why:
            raise ValueError(f"{self._owner} cannot be used {why}")
        check_readable(data.schema)
        prepared = PreparedFit.from_data(data)
        scales = pair_features.best_columns(prepared, passed["n_columns"])
        return data.schema, scales

    def _task(self, y: Any, target_type: str) -> Task:
        """What the quick fit learns."""
        if target_type == "auto":
            target_type = type_of_target(y, input_name="y")
            if target_type == "multiclass" and _are_many_numbers(y):
                target_type = "continuous"
        is_number = target_type.startswith("continuous")
        return Regression(self._owner) if is_number else Classification(self._owner)

    def _listed(
        self, X: Any, sample_weight: Any, listed: Sequence[Any]
    ) -> tuple[ColumnSchema, dict[int, float]]:
        """All columns, and the scales of those that the parameter lists."""
        passed = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        options = parameters.checked_options(passed, passed, self._owner)
        columns, schema, used = self._read(X, listed, options["n_jobs"])
        no_target = np.zeros(columns.n_rows)
        weight = None
        if sample_weight is not None:
            weight = row_weights.checked(sample_weight, None, no_target, None)
        rows = Rows(columns, no_target, weight)
        scales = pair_features.scales(rows, range(len(used)), options["random_state"])
        return schema, {used[j]: scale for j, scale in scales.items()}

    def _read(
        self, X: Any, listed: Sequence[Any], n_jobs: int | None
    ) -> tuple[Columns, ColumnSchema, list[int]]:
        """The listed columns of ``X``, what all columns are, and the numbers of these.

        ValueError if a listed column does not hold numbers.
        """
        frame = named_frame(X)
        if frame is None:
            columns, schema = containers.learned(X, owner=self._owner, n_jobs=n_jobs)
            check_readable(schema)
            used = _numbers(listed, schema)
            return columns.take(np.array(used)), schema, used
        n_features = frame.native.shape[1]
        names = sklearn_private.feature_names(frame.native)
        schema = ColumnSchema(n_features, names, Categories(set()))
        used = _numbers(listed, schema)
        columns, read = containers.learned(
            _selected(frame, used), owner=self._owner, n_jobs=n_jobs
        )
        words = [_finder(schema).name(used[j]) for j in read.categories.vocabularies]
        if words:
            raise ValueError(
                f"columns lists {words[0]!r}, which holds strings or categories: leave"
                " it out, or convert it to numbers."
            )
        return columns, schema, used

    def transform(self, X: Any) -> Any:
        """Append the pairs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows. The columns must be those of ``fit``, in the same order.

        Returns
        -------
        ndarray, sparse matrix or data frame of shape (n_samples, n_features_out)
            The columns of ``X``, and then the pairs. A data frame whose columns have
            names stays one, and its columns are not changed. Sparse matrices stay CSC,
            or become CSR. All else becomes an array of float64.
        """
        check_is_fitted(self)
        n_jobs = parameters.checked_value("n_jobs", self.n_jobs, self._owner)
        n_threads = thread_counts.n_threads(n_jobs)
        frame, schema = named_frame(X), self._schema
        if frame is not None and schema.feature_names is not None:
            return self._with_pairs(frame, schema, n_threads)
        columns = containers.columns(X, schema, owner=self._owner, n_jobs=n_threads)
        if sp.issparse(X):
            as_csr = sp.csr_matrix if sp.isspmatrix(X) else sp.csr_array
            blocks = [X, as_csr(_pairs(columns, schema))]
            return sp.hstack(blocks, format="csc" if X.format == "csc" else "csr")
        return numbers(columns)

    def _with_pairs(
        self, frame: dataframes.DataFrame, schema: ColumnSchema, n_threads: int
    ) -> Any:
        """A data frame with the pairs, in the container that the user asks for."""
        schema.check(frame.native, self._owner)
        pairs = schema.computed
        used = pairs.columns.tolist()
        # Another frame, even if nothing is appended.
        appended = nw.from_native(frame.native, eager_only=True).select(nw.all())
        if used:
            at = {number: j for j, number in enumerate(used)}
            of_used = ColumnSchema(
                len(used), None, Categories(set()), computed=pairs.renumbered(at)
            )
            columns = containers.columns(
                _selected(frame, used),
                of_used,
                owner=self._owner,
                by_name=False,
                n_jobs=n_threads,
            )
            names = pairs.names(cast("NDArray[Any]", schema.feature_names).tolist())
            appended = appended.with_columns(
                nw.new_series(name, values, backend=appended.implementation)
                for name, values in zip(names, _pairs(columns, of_used).T, strict=True)
            )
        return in_container(self, appended)

    @property
    def _schema(self) -> ColumnSchema:
        """The columns of ``X``, and the pairs of them."""
        return ColumnSchema(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            Categories(set()),
            computed=ComputedColumns.from_state(self.pairs_),
        )

    def _learned(self, schema: ColumnSchema) -> dict[str, Any]:
        finder = _finder(schema)
        return {
            "pairs_": [tuple(pair) for pair in schema.computed.state()],
            "columns_": [*map(finder.name, schema.computed.columns.tolist())],
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.columns is None
        return tags


def _are_many_numbers(y: Any) -> bool:
    """Whether whole numbers have too many values to be classes."""
    values = np.asarray(y)
    return values.dtype.kind in "iuf" and len(np.unique(values)) > _MAX_CLASSES


def _selected(frame: dataframes.DataFrame, columns: list[int]) -> Any:
    return nw.from_native(frame.native, eager_only=True)[:, columns].to_native()


def _pairs(columns: Columns, schema: ColumnSchema) -> NDArray[np.float64]:
    """The values of the pairs, which follow the columns of ``X``: (n_rows, n_pairs)."""
    first = schema.n_features
    return numbers(columns.take(np.arange(first, schema.n_all_features)))


def _finder(schema: ColumnSchema) -> ColumnFinder:
    names = schema.feature_names
    return ColumnFinder(schema.n_features, None if names is None else names.tolist())


def _numbers(listed: Sequence[Any], schema: ColumnSchema) -> list[int]:
    """The numbers of the columns that the user lists, ascending; else ValueError."""
    if schema.n_features < 2:
        raise ValueError(
            "X has only n_features = 1, and pairs need at least two columns. Pass more"
            " columns, or leave the transformer out."
        )
    finder = _finder(schema)
    numbers = sorted(finder.number(column, "columns") for column in listed)
    if len(set(numbers)) < max(len(numbers), 2):
        raise ValueError(
            f"columns must list at least two different columns, got {list(listed)}."
        )
    return numbers
