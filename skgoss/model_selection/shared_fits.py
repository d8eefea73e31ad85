"""What the fits of a search share: bins, models of more rounds, steps of pipelines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.estimators.base import LGBMModel, Result, model_of
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.fit import Fit
from skgoss.parameters import suggestion
from skgoss.parameters.settings import Settings
from skgoss.several_fits.entry import AnyFit
from skgoss.training.run import Run
from skgoss.utils.cancellation import Cancelled
from skgoss.utils.messages import closest, did_you_mean

# What a result depends on.
Key = tuple[Hashable, ...]

# Options that do not change the rounds that two fits have in common.
_FREE = frozenset({"n_estimators", "n_jobs"})


def last_steps(estimator: Any) -> Iterator[Any]:
    """An estimator, the last step of it if it is a pipeline, and so on."""
    yield estimator
    if isinstance(estimator, Pipeline):
        yield from last_steps(estimator.steps[-1][1])
    elif isinstance(estimator, TransformedTargetRegressor):
        yield from last_steps(estimator.regressor)


def with_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A clone with some parameters; ValueError with a close name if one is unknown."""
    try:
        return clone(estimator).set_params(**params)
    except ValueError as error:
        path = next((name for name in params if not _has(estimator, name)), None)
        if path is None:
            raise
        raise ValueError(
            f"Invalid parameter {path!r} for the estimator of the search."
            f"{_advice(path, estimator.get_params())}"
        ) from error


def _has(estimator: Any, path: str) -> bool:
    """Whether an estimator has a parameter, or another name of it."""
    try:
        clone(estimator).set_params(**{path: None})
    except ValueError:
        return False
    return True


def _advice(path: str, known: Collection[str]) -> str:
    """What to write instead of an unknown parameter; "" if nothing is like it.

    ``path`` is its name with the steps before it, such as 'model__eta', and ``known``
    are the names of all parameters. Other libraries' names of options count, too.
    """
    step, separator, name = path.rpartition("__")
    advice = did_you_mean(_close_paths(path, known))
    is_ours = f"{step}{separator}num_leaves" in known
    return advice or (suggestion(name) if is_ours else "")


def _close_paths(path: str, known: Collection[str]) -> list[str]:
    """The parameters with the most similar names: in any step of a pipeline.

    The same name in another step comes first; see `_advice` for the arguments.
    """
    step, separator, name = path.rpartition("__")
    named = [other for other in known if other.rpartition("__")[2] == name]
    if named or step not in known:
        return named or closest(path, known)
    # The name of the step is right, so it makes no other parameter like this one.
    start = f"{step}{separator}"
    names = [other.removeprefix(start) for other in known if other.startswith(start)]
    return [f"{start}{near}" for near in closest(name, names)]


def digest(*values: Any) -> str | None:
    """A hash of the content of values; None if they cannot be hashed."""
    try:
        return joblib.hash(values, hash_name="sha1")
    except Exception:  # of any object that cannot be pickled
        return None


class SharedFits:
    """What the fits of a search share.

    scikit-learn's search clones its estimator for each fit. After `attach`, these
    clones ask this object for their models. Data are recognized by a hash of their
    content, so callers of ``fit`` need not pass keys.
    """

    def __init__(self) -> None:
        self.is_open = True  # clones share no more once it is closed
        self.n_threads = 1  # of each fit and prediction
        # Whether models are kept, from which fits of fewer rounds are cut.
        self.keeps_models = False
        # Whether fits are kept, and continue for more rounds, as in a race.
        self.grows = False
        self.max_recent = 0  # the largest number of results in ``_recent``
        self.max_child_samples = 0  # the largest ``min_child_samples`` of the fits
        # Fits that continue, whole models, and the last bins and steps of pipelines.
        self._growing: dict[Key, Future[Any]] = {}
        self._models: dict[Key, Future[Any]] = {}
        self._recent: OrderedDict[Key, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()  # for the dicts
        self._one_by_one = threading.Lock()  # for fits that call functions of users

    def attach(self, estimator: Any) -> None:
        """Make an estimator and its clones share their fits.

        The steps of a pipeline are shared by its ``memory``, unless the user set one.
        """
        for step in last_steps(estimator):
            if isinstance(step, LGBMModel):
                step._shared = self
            elif isinstance(step, Pipeline) and step.memory is None:
                step.memory = SharedSteps(self)

    def close(self, estimator: Any) -> None:
        """Detach the estimator and its clones, and free all that was shared."""
        self.is_open = False
        self._models.clear()
        self._growing.clear()
        self._recent.clear()
        for step in last_steps(estimator):
            vars(step).pop("_shared", None)
            if isinstance(step, Pipeline) and isinstance(step.memory, SharedSteps):
                step.memory = None

    def model(
        self,
        estimator: LGBMModel,
        X: Any,
        y: Any,
        arguments: FitArguments,
        settings: Settings,
    ) -> Result:
        """The model of an estimator that is being fitted; what `_fit` would return.

        There are three ways: continue a fit with the same data and options that has
        fewer rounds (in a race), cut a kept model of at least as many rounds, or fit.
        """
        key = data, *_ = self.key(X, y, arguments, settings)
        start = partial(self._prepare, estimator, X, y, arguments, settings, data)
        has_sets = arguments.eval_set is not None or arguments.eval_X is not None
        grows = self.grows and not has_sets
        is_plain = arguments.callbacks is None and arguments.init_model is None
        is_shared = is_plain and (self.keeps_models or grows)
        if not (is_shared and are_rounds_alike(settings)):
            return self._model_of(start())
        n_rounds = settings.n_estimators
        if grows and None not in key:
            fit, run = self.growing(key, start)
            with run.lock:
                run.advance(n_rounds)
                model, of_callbacks = fit.model_of_first(n_rounds), {}
        else:
            most, (model, of_callbacks), fit = self._once(
                self._models, key, lambda: self._fitted(n_rounds, start())
            )
            if most < n_rounds:
                return self._model_of(start())
            if most > n_rounds:
                model = model.of_fewer_rounds(n_rounds)
                model = model if fit is None else fit.with_baseline(model)
        return model.with_record(estimator._record(settings.explicit)), of_callbacks

    def key(
        self, X: Any, y: Any, arguments: FitArguments, settings: Settings
    ) -> tuple[str | None, str | None, Hashable]:
        """The key of a fit, in three parts, each a hash; None: it cannot be hashed.

        The first is for the columns of X, the second for all else that is passed to
        ``fit``, the third for the options that rounds depend on.
        """
        passed = {k: v for k, v in vars(arguments).items() if v is not None}
        return (
            digest(
                X,
                arguments.feature_name,
                settings.categorical_feature,
                settings.date_features,
            ),
            digest(y, passed),
            options_of_rounds(settings),
        )

    def growing(self, key: Key, start: Callable[[], AnyFit]) -> tuple[Fit, Run]:
        """The fit of a race with this key, which continues on demand.

        Candidates with the same options share it.
        """

        def begin() -> tuple[Fit, Run]:
            fit = start()
            assert isinstance(fit, Fit)  # see `are_rounds_alike`
            return fit, Run(fit.rounds, releases_buffers=True)

        return self._once(self._growing, key, begin)

    def _prepare(
        self,
        estimator: LGBMModel,
        X_of_fit: Any,
        y: Any,
        arguments: FitArguments,
        settings: Settings,
        data: str | None,
    ) -> AnyFit:
        """A fit that has not begun, with the bins of earlier fits to the same data.

        ``data`` is the key of ``X_of_fit``; None: it has none, so nothing is shared.
        """
        # Fits that continue later hold the same rows, and not a copy each.
        X = self._once(self._recent, (data,), lambda: X_of_fit)
        return estimator._prepare(
            input_sets(X, y, arguments, settings),
            arguments,
            settings,
            self.n_threads,
            partial(self.bins, data) if data else None,
        )

    def _fitted(self, n_rounds: int, fit: AnyFit) -> tuple[int, Result, Fit | None]:
        """The entry of ``_models`` for a fit of ``n_rounds`` rounds.

        That is the number of rounds, the result, and the fit itself if its model has a
        baseline hazard: for fewer rounds, it is computed again from the rows.
        """
        result = self._model_of(fit)
        if result[0].baseline is None:
            return n_rounds, result, None
        assert isinstance(fit, Fit)  # see `are_rounds_alike`
        fit.rounds.release_buffers()
        return n_rounds, result, fit

    def _model_of(self, fit: AnyFit) -> Result:
        """Run the rounds of a fit, and return its result."""
        # Functions of users need not be thread-safe, and messages of several fits must
        # not be mixed.
        data, setup = fit.prepared.data, fit.prepared.setup
        has_functions = setup.has_functions or data.arguments.callbacks
        is_one_by_one = has_functions or data.settings.verbosity >= 1
        with self._one_by_one if is_one_by_one else nullcontext():
            return model_of(fit)

    def bins(self, data: str | None, *args: Any, **options: Any) -> BinnedDataset:
        """The bins of `BinnedDataset.build`, which fits of the same rows share.

        ``data`` is the hash of the columns; the rest is passed to `build`. Bins leave
        out columns with fewer nonzero values than ``min_child_samples``. They are made
        for the largest value of all candidates; those with less can use them if no
        column was left out that they could split.
        """
        columns, settings = args

        def shared(min_child_samples: int) -> BinnedDataset:
            changed = replace(settings, min_child_samples=min_child_samples)

            def build() -> BinnedDataset:
                binned = BinnedDataset.build(columns, changed, **options)
                binned.storage.pack()
                return binned

            key = data, repr(changed), digest(options["weight"], options["rows"])
            return self._once(self._recent, key, build)

        own = settings.min_child_samples
        binned = shared(max(own, self.max_child_samples))
        return binned if binned.filtered_rows < own else shared(own)

    def of_step(
        self,
        function: Callable[..., Any],
        ignore: Collection[str],
        *args: Any,
        **options: Any,
    ) -> Any:
        """What a function that fits a step of a pipeline returns.

        It does not depend on the options with the names ``ignore``.
        """
        key = digest(
            function, args, {k: v for k, v in options.items() if k not in ignore}
        )
        return self._once(self._recent, (key,), partial(function, *args, **options))

    def _once(
        self,
        results: dict[Key, Future[Any]],
        key: Key,
        make: Callable[[], Any],
    ) -> Any:
        """The result of this key, which one thread makes while others wait for it.

        ``results`` is one of the dicts of results, and ``make`` makes a new one. A part
        of the key that is None is unknown, so nothing is shared. Of ``_recent``, the
        result that was used longest ago is dropped if there are too many.
        """
        if None in key:
            return make()
        with self._lock:
            is_new = key not in results
            future = results.setdefault(key, Future())
            if results is self._recent:
                self._recent.move_to_end(key)
                if len(self._recent) > self.max_recent:
                    self._recent.popitem(last=False)
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                if isinstance(error, Cancelled):  # others may need it later
                    results.pop(key, None)
        return future.result()


class SharedSteps:
    """What stands for ``Pipeline(memory=)``: steps are kept in memory."""

    def __init__(self, shared: SharedFits) -> None:
        self._shared = shared

    def cache(
        self, function: Callable[..., Any], ignore: Collection[str] = ()
    ) -> Callable[..., Any]:
        """The function, which shares what it returns: see `SharedFits.of_step`."""
        return partial(self._shared.of_step, function, ignore)

    def __repr__(self) -> str:
        return "'shared by the search'"

    def __sklearn_clone__(self) -> SharedSteps | None:
        return self if self._shared.is_open else None


def are_rounds_alike(options: LGBMModel | Settings) -> bool:
    """Whether the first rounds of a fit are the same however many follow them.

    Then a model of fewer rounds can be cut from one of more. Not so with dropout, which
    changes earlier trees, forests, whose scores are means, and fits that choose their
    number of rounds.
    """
    return (
        options.boosting_type in ("gbdt", "goss")
        and options.folds is None
        and options.preset is None
        and options.time_limit is None
        and not options.early_stopping_round
    )


def options_of_rounds(settings: Settings) -> Hashable:
    """A key of the options that the rounds depend on; None if it cannot be made.

    All but the number of rounds and of threads.
    """
    options = {k: v for k, v in vars(settings).items() if k not in _FREE}
    try:
        return frozenset(options.items())
    except TypeError:
        return digest(options)
