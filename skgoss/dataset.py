"""Rows and what belongs to them, binned once for any number of fits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from skgoss import _compat, dataset_fields, dataset_files, dataset_state, parameters
from skgoss._messages import type_name
from skgoss.data import names, raw
from skgoss.data.dataset import DatasetOptions
from skgoss.data.text_files import FileOptions
from skgoss.dataset_bins import OPTIONS, Binning
from skgoss.locks import Lock

# Options that a fit takes from a data set if it is given no others.
_INHERITED = ({*OPTIONS} - {"min_child_samples"}) | {"linear_tree"}


class Dataset(Binning):
    """Rows with labels and weights, binned once for any number of fits.

    `train` takes data sets, and so does ``fit`` of the estimators, in place of ``X``
    and ``y`` and for evaluation sets. Nothing is read or binned before it is needed.
    The bins are found by the options of the first fit. A fit that asks for other ones
    finds them anew if ``data`` is still there, and raises ValueError otherwise; later
    fits use the new ones, unless they ask for others. Options of trees change no bins.

    Parameters
    ----------
    data : array-like, data frame, sparse matrix, Sequence or path
        Rows of shape (n_samples, n_features) in all containers that the estimators
        take. A list of arrays of two dimensions, or of `Sequence` objects, holds chunks
        of rows, one below the other. A path leads to a file of text (CSV, TSV or
        LibSVM), or to one of `save_binary`.
    label : array-like of shape (n_samples,), default=None
        The target: numbers, or labels of classes for a classifier.
    reference : Dataset, default=None
        A training set whose bins, names and categories these rows share, for
        evaluation sets. An evaluation set without a reference gets the training set.
    weight : array-like of shape (n_samples,), default=None
        Weights of the rows, which are at least 0. Bins are found by weight.
    group : array-like of shape (n_queries,), default=None
        Sizes of the queries, whose rows are consecutive.
    init_score : array-like of shape (n_samples,) or (n_samples, n_classes), \
            default=None
        Raw scores to start from. In one dimension, those of all rows for the first
        class come first.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns; 'auto': those of a data frame.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories; 'auto': strings and categories of data
        frames.
    params : dict, default=None
        Options by any of their names. Those of binning, such as ``max_bin``, and
        ``linear_tree`` are used where a fit is given no others; options of trees are
        not used. A data set with a reference has the options of the reference.
    free_raw_data : bool, default=True
        Whether ``data`` is forgotten when it is binned. It is kept anyway if a fit, or
        ``params``, asks for linear trees or an earlier model, which need values.
    position : array-like of shape (n_samples,), default=None
        Positions of documents, which have no effect.
    silent : bool, default=False
        Accepted for scripts of LightGBM before 4; nothing is printed either way.

    Attributes
    ----------
    label, weight, group, init_score, position : ndarray or None
        What belongs to the rows, in arrays that cannot be written to. Other values may
        be assigned at any time; fits use them without binning anew.
    used_indices : ndarray of int64, or None
        The rows of ``reference`` that a subset has; None: this is no subset.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.

    See Also
    --------
    train : Training on a data set.
    Sequence : Rows that are read in batches.

    Notes
    -----
    Several threads may use a data set at once. Weights of classes, and weights that are
    set when the rows have been binned, do not change the bins.

    Files of text are read by LightGBM's rules: the first column is the label, unless
    ``params`` say so by ``label_column``; ``header``, ``weight_column``,
    ``group_column`` and ``ignore_column`` say more. Files beside them, such as
    'train.csv.weight', are read as well. What the constructor is given has priority.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import Dataset, train
    >>> X, y = load_diabetes(return_X_y=True)
    >>> train_set = Dataset(X, label=y)
    >>> models = [train({"num_leaves": n}, train_set, 10) for n in (7, 15)]
    >>> [model.num_trees() for model in models]
    [10, 10]
    """

    def __init__(
        self,
        data: Any,
        label: ArrayLike | None = None,
        reference: Dataset | None = None,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] = "auto",
        params: Mapping[str, Any] | None = None,
        free_raw_data: bool = True,
        position: ArrayLike | None = None,
        *,
        silent: bool = False,
    ) -> None:
        self._lock = Lock()
        self._binned = self._found_by = None
        self._keeps_values = False
        self.data = data
        self.reference: Dataset | None = None
        self.used_indices = None
        self.free_raw_data = free_raw_data
        of_files, given = parameters.file_options(_checked_params(params), "Dataset")
        self._file_options = FileOptions(**of_files)
        self.params = parameters.by_name(given, "Dataset")
        if reference is not None:
            self.set_reference(reference)
        self.label = label
        self.weight = weight
        self.group = group
        self.init_score = init_score
        self.position = position
        self.set_feature_name(feature_name)
        self.categorical_feature = _checked_categories(categorical_feature)

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "A Dataset is not an array: predictions, searches and cross-validation need"
            " the rows themselves."
        )

    # --- Columns ----------------------------------------------------------------------

    def set_feature_name(self, feature_name: str | Sequence[str]) -> Self:
        """Set the names of the columns.

        Parameters
        ----------
        feature_name : sequence of str or 'auto'
            One name for each column. 'auto': those of a data frame.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        TypeError, ValueError
            If there is not one name for each column.
        """
        given = names.given(feature_name)
        n_features = self._shape[1]
        if given is not None and n_features is not None:
            names.check(given, n_features)
        self.feature_name = feature_name if given is None else given
        return self

    def set_categorical_feature(
        self, categorical_feature: str | Iterable[str | int]
    ) -> Self:
        """Set the columns that hold categories.

        Rows that are binned with other columns are binned again.

        Parameters
        ----------
        categorical_feature : iterable of str or int, or 'auto'
            Names or numbers of columns. 'auto': those of categories in a data frame.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        ValueError
            If the rows would be binned again, but the data were freed.
        """
        wanted = _checked_categories(categorical_feature)
        with self._lock:
            known = self._found_by
            if known is not None and not known.has_categorical(wanted):
                self._check_raw(
                    f"change categorical_feature from {known.categorical!r} to"
                    f" {wanted!r}"
                )
                self._binned = self._found_by = None
            self.categorical_feature = wanted
        return self

    def num_data(self) -> int:
        """Return the number of rows.

        Returns
        -------
        int
            The number of rows; a path is read for it.
        """
        known = self._load()._shape[0]
        return self.construct()._binned.n_rows if known is None else known

    def num_feature(self) -> int:
        """Return the number of columns.

        Returns
        -------
        int
            The number of columns; a path is read for it.
        """
        known = self._load()._shape[1]
        return self.construct()._binned.n_features if known is None else known

    def get_feature_name(self) -> list[str]:
        """Return the names of the columns; 'Column_0' and so on if they have none.

        Returns
        -------
        list of str
            A name for each column.
        """
        self.construct()
        return list(map(str, self._names or names.default(self.num_feature())))

    def feature_num_bin(self, feature: int | str) -> int:
        """Return the number of bins of a column.

        Parameters
        ----------
        feature : int or str
            Its number or name.

        Returns
        -------
        int
            0 if the column cannot be split: its values fall into one bin.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        known = self.get_feature_name()
        column: Any = known.index(feature) if feature in known else feature
        if column not in range(len(known)):
            raise ValueError(
                f"feature must be a number from 0 to {len(known) - 1} or the name of a"
                f" column, got {feature!r}."
            )
        mapper = self._binned.mappers[column]
        return 0 if mapper.is_trivial else int(mapper.n_bins)

    def get_data(self) -> Any:
        """Return the data as they were given; of a subset, its rows.

        Returns
        -------
        object
            What the constructor was given as ``data``; a path is replaced by its rows.

        Raises
        ------
        ValueError
            If the data were freed.
        """
        if self.used_indices is not None:
            return raw.take(self.reference.get_data(), self.used_indices)
        self._check_raw("return its data")
        return self.data

    def get_params(self) -> dict[str, Any]:
        """Return the options of binning among ``params``, by their main names.

        Returns
        -------
        dict
            Values by name.
        """
        given = parameters.canonical(self.params, "Dataset")
        known = DatasetOptions.__dataclass_fields__.keys() | {"linear_tree"}
        return {name: value for name, value in given.items() if name in known}

    # --- Rows of other sets -----------------------------------------------------------

    def create_valid(
        self,
        data: Any,
        label: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        params: Mapping[str, Any] | None = None,
        position: ArrayLike | None = None,
    ) -> Dataset:
        """Make an evaluation set, which shares the bins of this training set.

        Parameters
        ----------
        data, label, weight, group, init_score, params, position : object
            As in the constructor.

        Returns
        -------
        Dataset
            The evaluation set.
        """
        return Dataset(
            data,
            label,
            self,
            weight,
            group,
            init_score,
            params=params,
            free_raw_data=self.free_raw_data,
            position=position,
        )

    def set_reference(self, reference: Dataset) -> Self:
        """Set the training set whose bins these rows share.

        Parameters
        ----------
        reference : Dataset
            The training set.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        TypeError
            If it is not a Dataset.
        ValueError
            If it shares the bins of this one, or if the rows have other bins and the
            data were freed.
        """
        if not isinstance(reference, Dataset):
            raise TypeError(f"reference must be a Dataset, got {type_name(reference)}.")
        with self._lock:
            if reference is self or reference is self.reference:
                return self
            if self in reference.get_ref_chain():
                raise ValueError("reference must not share the bins of this Dataset.")
            if self.used_indices is not None:
                self.data, self.used_indices = self.get_data(), None
            if not self._fits(reference._binned, reference._memory):
                if self._binned is not None:
                    self._check_raw("change its reference")
                self._binned = self._found_by = None
            self.reference = reference
        return self

    def get_ref_chain(self, ref_limit: int = 100) -> set[Dataset]:
        """Return this data set, its reference, the reference of that one, and so on.

        Parameters
        ----------
        ref_limit : int, default=100
            The maximum number of data sets.

        Returns
        -------
        set of Dataset
            This one is among them.
        """
        chain: set[Dataset] = set()
        last: Dataset | None = self
        while last is not None and len(chain) < ref_limit:
            chain.add(last)
            last = last.reference
        return chain

    def subset(
        self, used_indices: ArrayLike, params: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Take some of the rows, in the bins of this data set.

        Parameters
        ----------
        used_indices : array-like of int, or of bool of shape (n_samples,)
            The numbers of the rows, or which rows to take. They are taken in ascending
            order.
        params : dict, default=None
            As in the constructor.

        Returns
        -------
        Dataset
            It has what belongs to the rows. Queries of which only some rows are taken
            become shorter.

        Raises
        ------
        ValueError
            If there are no rows, or one of them does not exist or comes twice.
        """
        n_rows = self.num_data()
        rows = dataset_fields.row_numbers(used_indices, n_rows)
        part = Dataset(
            None, reference=self, params=params, free_raw_data=self.free_raw_data
        )
        part.used_indices = rows
        vars(part).update(dataset_fields.taken(self._fields, rows, n_rows))
        return part

    # --- Other columns, files, pickles ------------------------------------------------

    def add_features_from(self, other: Dataset) -> Self:
        """Add the columns of another data set with the same rows.

        What belongs to the rows stays as it is. The values of both are forgotten here:
        fits cannot ask for other bins or linear trees. A name of ``other`` that is
        there already gets the prefix ``D2_``.

        Parameters
        ----------
        other : Dataset
            It is not changed.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        TypeError
            If ``other`` is not a Dataset.
        ValueError
            If it has another number of rows, or if one of both has a reference.
        """
        if not isinstance(other, Dataset):
            raise TypeError(f"other must be a Dataset, got {type_name(other)}.")
        if self.reference is not None or other.reference is not None:
            raise ValueError(
                "Columns cannot be added to, or from, a Dataset with a reference. Make"
                " it without one."
            )
        added: Any = other.construct()._binned, other._found_by
        with self._lock:
            own: Any = self.construct()._binned, self._found_by
            self._binned, self._found_by = dataset_state.joined(
                own, added, _compat.n_threads(None)
            )
            self.data = None
            self.feature_name = self._found_by.names or "auto"
            self.categorical_feature = self._found_by.categorical
        return self

    def save_binary(self, filename: str | PathLike[str]) -> Self:
        """Write the bins, and what belongs to the rows, to a file.

        ``Dataset(filename)`` reads it. The values are not in the file.

        Parameters
        ----------
        filename : str or path
            The file; an earlier one is replaced.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        dataset_files.write(self.construct(), filename)
        return self

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return dataset_files.state(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(dataset_files.restored(state))

    # --- Binning ----------------------------------------------------------------------

    def _options_besides(self, asked: Collection[str]) -> dict[str, Any]:
        """The options that a fit takes from here, besides those of other names."""
        root = self._root._load()
        given = parameters.canonical(root.params, "Dataset")
        names_seed = {"random_state", "data_random_seed"}
        if names_seed & given.keys() and not names_seed & set(asked):
            given |= parameters.checked_options(
                root.params, ["data_random_seed"], "Dataset"
            )
        given = {name: value for name, value in given.items() if name in _INHERITED}
        given["categorical_feature"] = root.categorical_feature
        return {name: v for name, v in given.items() if name not in asked}

    def construct(self) -> Self:
        """Bin the rows, if they are not binned yet.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        TypeError, ValueError
            If the data or the options are not valid. Then the data set is as before.
        """
        with self._lock:
            if self._binned is None:
                self._construct()
        return self

    def _construct(self) -> None:
        given = parameters.checked_options(
            self._root.params,
            (*DatasetOptions.__dataclass_fields__, "linear_tree", "n_jobs"),
            "Dataset",
        )
        linear, n_jobs = given.pop("linear_tree"), given.pop("n_jobs")
        self._prepare(
            DatasetOptions(**given),
            {},
            _compat.n_threads(n_jobs),
            needs_values_for="linear_tree" if linear else "",
        )

    def _read_by(self, options: Mapping[str, Any]) -> None:
        """Replace options of data files, by their names, of a file to be read."""
        with self._lock:
            self._file_options = self._file_options._replace(**options)

    def _load(self) -> Self:
        """Bring data into memory, as far as they are not there."""
        with self._lock:
            if isinstance(self.data, str | PathLike):
                vars(self).update(dataset_files.read(self, self.data))
            loaded = raw.loaded(self.data)
            if loaded is not self.data:
                dataset_fields.check(self._fields, raw.shape(loaded)[0])
                self.data = loaded
        return self


def _checked_params(params: Any) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, got {type_name(params)}.")
    return params or {}


def _checked_categories(categorical_feature: Any) -> Any:
    given = {"categorical_feature": categorical_feature}
    return parameters.checked_options(given, given, "Dataset")["categorical_feature"]
