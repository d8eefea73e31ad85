"""The estimators on a Dask cluster."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar, cast

from dask.base import compute
from distributed import Client, default_client
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skgoss import parameters
from skgoss.booster.booster import init_model
from skgoss.dask import fits, partition_predictions
from skgoss.dask import parts as partitions
from skgoss.estimators.base import LGBMModel, reentry_guard
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor
from skgoss.fit import callbacks
from skgoss.fit.arguments import NO_ROWS, FitArguments, input_sets
from skgoss.fit.callbacks import Recorder
from skgoss.model.fitted import EstimatorRecord, constructor_defaults
from skgoss.parameters import descriptions, docstrings
from skgoss.utils import disk, messages, sklearn_private
from skgoss.utils.public import set_module

Function = TypeVar("Function", bound=Callable[..., Any])
Cluster = TypeVar("Cluster", bound="_ClusterModel")

_NOTE = """

Notes
-----
For Dask arrays, Dask data frames and lists of delayed parts, predictions are lazy. The
result is a Dask array with the partitions of ``X``, or a list of Dask arrays where the
local estimator returns a list. Chunk lengths are known if those of ``X`` are known.
Predictions of rows in memory are computed at once, in this process.
"""

# The common part of the docstrings; {local} is the name of the local estimator.
_ON_CLUSTER = """\
The rows stay on the workers that hold them. The model is identical to the
model of `{local}` on the same rows, in the order of the partitions.

Parameters
----------
{client}
... : options, which ``help`` and docs/parameters.md describe

Attributes
----------
{client_}
{classes}... : attributes of the fitted model, which ``help`` describes

See Also
--------
skgoss.{local} : The same model, of rows in one process.

Examples
--------
>>> import dask.array as da
>>> from distributed import Client
>>> from skgoss.dask import Dask{local}
>>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
>>> X = da.random.default_rng(0).normal(size=(2000, 3), chunks=(500, 3))"""

_CLASSES = """\
classes_ : ndarray of shape (n_classes,)
    The sorted labels, including labels of rows with weight 0.
n_classes_ : int
    The number of classes.
"""


def _fit_on_cluster(method: Function) -> Function:
    """``fit`` of a local estimator, described for Dask collections."""

    @functools.wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        # As in LightGBM, estimators that do not rank accept ``group=None``.
        if kwargs.get("group", self) is None:
            del kwargs["group"]
        return method(self, *args, **kwargs)

    return cast(Function, docstrings.describe_fit(fit, descriptions.DASK_FIT))


def _lazy(method: Function) -> Function:
    """A prediction of a local estimator that is lazy for Dask collections."""

    @functools.wraps(method)
    def predict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not partitions.is_lazy(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        return partition_predictions.predict_lazily(
            method, self.to_local(), X, args, kwargs
        )

    doc, mark, end = inspect.cleandoc(method.__doc__ or "").partition("\nExamples\n")
    predict.__doc__ = f"{doc.rstrip()}{_NOTE}{mark}{end}"
    return cast(Function, predict)


def _score_collections(method: Function) -> Function:
    """``score`` of a local estimator that also accepts Dask collections."""

    @functools.wraps(method)
    def score(self: Any, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        if not partitions.is_lazy(X):
            return method(self, X, y, *args, **kwargs)
        predicted = self.predict(X).compute()
        # One by one: Dask warns if arrays and frames are computed together.
        y, args, kwargs = (compute(value)[0] for value in (y, args, kwargs))
        scored = self.to_local()
        scored.predict = lambda X: predicted
        return method(scored, None, y, *args, **kwargs)

    return cast(Function, score)


def _documented(cls: type[Cluster]) -> type[Cluster]:
    """Complete the docstring of a class."""
    cls.__doc__ = docstrings.filled(
        cls.__doc__,
        on_cluster=_ON_CLUSTER,
        local=cls._local.__name__,
        classes=_CLASSES if issubclass(cls, LGBMClassifier) else "",
        **descriptions.CLIENT,
    )
    return docstrings.describe_estimator(cls)


class _ClusterModel(LGBMModel):
    """The common part of the estimators on a cluster."""

    # The class of the estimator that each worker fits.
    _local: type[LGBMModel]

    def __init__(self, *, client: Client | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.client = client

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags

    @property
    def client_(self) -> Client:
        """The client: the parameter ``client``, or else the current one."""
        check_is_fitted(self)
        return self._client()

    def _client(self) -> Client:
        return default_client() if self.client is None else self.client

    def _waiting_client(self) -> Client:
        """The client; ValueError if calls cannot wait for it."""
        client = self._client()
        if not isinstance(client, Client):
            name = messages.type_name(client)
            raise TypeError(f"client must be a distributed.Client, got {name}.")
        if client.asynchronous:
            raise ValueError(
                "fit waits for the workers, but client is asynchronous. Pass a client"
                " that is not, and call fit in another thread than that of the event"
                " loop, such as by asyncio.to_thread."
            )
        return client

    def to_local(self) -> LGBMModel:
        """Return the local estimator: LGBMClassifier, LGBMRegressor or LGBMRanker.

        Returns
        -------
        estimator
            It has the same parameters and, if this estimator is fitted, the same model.
        """
        local = self._local.__new__(self._local)
        local.__dict__.update(vars(self))
        del local.client
        return local

    def _record(self, passed: Mapping[str, Any] | None = None) -> EstimatorRecord:
        return self.to_local()._record(passed)

    def __getstate__(self) -> dict[str, Any]:
        # Clients belong to their process.
        return super().__getstate__() | {"client": None}

    def __sklearn_clone__(self) -> Self:
        plain = self.__new__(type(self))
        plain.__dict__.update(vars(self), client=None)
        cloned = super(_ClusterModel, plain).__sklearn_clone__()
        cloned.client = self.client
        return cloned

    def _fit(self, X: Any, y: Any, arguments: FitArguments) -> Self:
        with reentry_guard(self):
            self._fit_on_workers(X, y, arguments)
        return self

    def _fit_on_workers(self, X: Any, y: Any, arguments: FitArguments) -> None:
        """Fit on the workers that hold the partitions, and keep the model here.

        The workers get a plain estimator, the arguments that are not rows, and their
        parts of the rows. Callbacks are called here.
        """
        client, local = self._waiting_client(), self._unfitted()
        if arguments.verbose is not False:
            arguments = arguments.with_messages()
        settings = fits.checked(local, X, arguments)
        all_rows = input_sets(X, y, arguments, settings, is_lazy=True)
        if arguments.eval_metric is not None and len(all_rows) == 1:
            arguments.warn_if_nothing_is_evaluated(settings)
        if settings.warm_start:
            continued = self._continued(arguments, settings, all_rows)
            if continued is None:
                return
            arguments = continued
        sets, delayed = partitions.cut(all_rows)
        fit_callbacks = callbacks.own_copies(arguments.callbacks)
        local_values = {
            "callbacks": fit_callbacks,
            "init_model": init_model(arguments.init_model),
            "groups": compute(arguments.groups)[0],
            "time": compute(arguments.time)[0],
        }
        arguments = dataclasses.replace(arguments, **(NO_ROWS | local_values))
        has_callbacks = vars(self).keys() & sklearn_private.CALLBACK_ATTRIBUTES
        hooks = None
        if has_callbacks:
            hooks = self._round_hooks(X, y, arguments, settings)
        events = fits.ClientEvents(settings, hooks)
        work = fits.Work(local, arguments, sets, events.needs_rounds)
        if hooks is not None:
            hooks.begin()
        model = fits.run(client, work, delayed, events)
        self._keep(model.with_record(self._record()))
        for call in fit_callbacks:
            if isinstance(call, Recorder):
                call.eval_result.clear()
                call.eval_result.update(self.evals_result_)
        if hooks is not None:
            hooks.end()

    def _unfitted(self) -> LGBMModel:
        """The local estimator that each worker fits, without a model.

        Its seed is drawn, and its files are read, in this process.
        """
        local = self._local.__new__(self._local)
        names = {
            *constructor_defaults(cast(type, self._local)),
            "_passed",
            "_unused_params",
        } & vars(self).keys()
        local.__dict__.update({name: vars(self)[name] for name in names})
        # All workers must draw the same numbers, and cannot read files of this machine.
        local.random_state = parameters.draw_seed(self.random_state)
        for option in ("forcedsplits_filename", "forcedbins_filename"):
            contents = disk.json_contents(getattr(self, option), option)
            setattr(local, option, contents)
        return local


@set_module("skgoss.dask")
@_documented
class DaskLGBMClassifier(_ClusterModel, LGBMClassifier):
    """LGBMClassifier for data on the workers of a Dask cluster.

    {on_cluster}
    >>> y = X[:, 0] > 0
    >>> model = DaskLGBMClassifier(n_estimators=10).fit(X, y)
    >>> model.predict_proba(X).chunks
    ((500, 500, 500, 500), (2,))
    >>> client.close()
    """

    _local = LGBMClassifier
    fit = _fit_on_cluster(LGBMClassifier.fit)
    predict = _lazy(LGBMClassifier.predict)
    predict_proba = _lazy(LGBMClassifier.predict_proba)
    decision_function = _lazy(LGBMClassifier.decision_function)
    predict_set = _lazy(LGBMClassifier.predict_set)
    score = _score_collections(LGBMClassifier.score)


@set_module("skgoss.dask")
@_documented
class DaskLGBMRegressor(_ClusterModel, LGBMRegressor):
    """LGBMRegressor for data on the workers of a Dask cluster.

    {on_cluster}
    >>> model = DaskLGBMRegressor(n_estimators=10).fit(X, X[:, 0])
    >>> model.predict(X).chunks
    ((500, 500, 500, 500),)
    >>> client.close()
    """

    _local = LGBMRegressor
    fit = _fit_on_cluster(LGBMRegressor.fit)
    predict = _lazy(LGBMRegressor.predict)
    predict_interval = _lazy(LGBMRegressor.predict_interval)
    score = _score_collections(LGBMRegressor.score)


@set_module("skgoss.dask")
@_documented
class DaskLGBMRanker(_ClusterModel, LGBMRanker):
    """LGBMRanker for data on the workers of a Dask cluster.

    Pass the queries as ``qid`` or ``group``; all rows of a query must be in one
    partition.

    {on_cluster}
    >>> y, qid = (X[:, 0] > 0).astype(int), da.arange(2000, chunks=500) // 10
    >>> model = DaskLGBMRanker(n_estimators=10).fit(X, y, qid=qid)
    >>> model.predict(X).chunks
    ((500, 500, 500, 500),)
    >>> client.close()
    """

    _local = LGBMRanker
    fit = _fit_on_cluster(LGBMRanker.fit)
    predict = _lazy(LGBMRanker.predict)
    score = _score_collections(LGBMRanker.score)
