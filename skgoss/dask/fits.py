"""A fit on a cluster: the work of the client, and that of each worker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dask.delayed import Delayed
from distributed import Client
from distributed.protocol import pickle

from skgoss.booster.booster import Booster
from skgoss.dask import launch, parts
from skgoss.dask.connections import DaskCollectives
from skgoss.estimators.base import LGBMModel
from skgoss.fit import callbacks
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.fit.callbacks import CallbackEnv, EvalResult, Listener
from skgoss.fit.fit_data import check_can_be_distributed
from skgoss.model.fitted import FittedModel
from skgoss.parameters.settings import Settings
from skgoss.utils import sklearn_private
from skgoss.utils.messages import LISTENER, UnusedParameterWarning, warn

# The warnings of fits, by their names.
_CATEGORIES = {
    kind.__name__: kind
    for kind in (UserWarning, RuntimeWarning, UnusedParameterWarning)
}


def checked(estimator: LGBMModel, X: Any, arguments: FitArguments) -> Settings:
    """The options of a fit, checked before the workers get them.

    ValueError if one of them has an invalid value, or cannot be used on a cluster.
    """
    # The workers give the same warnings.
    token = LISTENER.set(lambda message, category: None)
    try:
        settings = estimator._settings(X, arguments)
    finally:
        LISTENER.reset(token)
    check_can_be_distributed(settings)
    return settings


@dataclass(frozen=True)
class Work:
    """The work of each process of a fit."""

    estimator: LGBMModel  # a local one, to be fitted
    arguments: FitArguments  # those that do not belong to a set of rows
    sets: list[InputSet]  # as `parts.cut` returns them
    reports_rounds: bool  # whether each round is an event for the client

    def __call__(
        self, collectives: DaskCollectives, held: dict[Any, parts.Part], n_threads: int
    ) -> FittedModel:
        """Fit a model to the rows of this process."""
        # All processes have the same messages. The first one reports them.
        send_event = (
            collectives.send_event if collectives.rank == 0 else lambda event: None
        )
        token = LISTENER.set(
            lambda text, kind: send_event(["message", text, kind and kind.__name__])
        )
        try:
            return self._model(collectives, held, n_threads, send_event)
        finally:
            LISTENER.reset(token)

    def _model(
        self,
        collectives: DaskCollectives,
        held: dict[Any, parts.Part],
        n_threads: int,
        send_event: Callable[[Any], None],
    ) -> FittedModel:
        """The model of a fit of the parts that this process holds: see `launch.run`."""
        # A fit that continues from a model needs the values, to compute its scores.
        is_stacked = self.arguments.init_model is None
        sets = parts.assemble(collectives, self.sets, held, is_stacked=is_stacked)
        fit_callbacks = list(self.arguments.callbacks)
        if self.reports_rounds and collectives.rank == 0:
            fit_callbacks.append(_RoundReporter(send_event))
        if collectives.n_ranks == 1:
            fit_callbacks.append(_CancellationCheck(collectives))
        arguments = dataclasses.replace(self.arguments, callbacks=fit_callbacks)
        fit = self.estimator._prepare(
            sets,
            arguments,
            self.estimator._settings(sets[0].X, arguments),
            n_threads if self.estimator.n_jobs is None else None,
        )
        # Keep no reference to the rows: the fit frees them when they are in bins.
        del sets
        return fit.model(Booster._from_model)


class _RoundReporter(Listener):
    """The callback that reports each round to the client."""

    order = 5
    only_watches = True

    def __init__(self, send_event: Callable[[Any], None]) -> None:
        self.send_event = send_event

    def __call__(self, env: CallbackEnv) -> None:
        """Send the number of the round and its metrics, in types that JSON can hold."""
        results = [
            [name, metric, float(value), bool(maximize)]
            for name, metric, value, maximize in env.evaluation_result_list
        ]
        rounds = env.iteration, env.begin_iteration, env.end_iteration
        self.send_event(["round", *rounds, results])


class _CancellationCheck(Listener):
    """The callback that ends a cancelled fit of one process.

    With several processes, collective operations raise the error.
    """

    before_iteration = True
    only_watches = True

    def __init__(self, collectives: DaskCollectives) -> None:
        self.collectives = collectives

    def __call__(self, env: CallbackEnv) -> None:
        self.collectives.all_gather(None)


class ClientEvents:
    """Handles the events of the processes in the client."""

    def __init__(
        self, settings: Settings, hooks: sklearn_private.RoundHooks | None
    ) -> None:
        self.settings = settings
        self.hooks = hooks
        self.bar = callbacks.ProgressBar() if settings.verbosity >= 1 else None

    @property
    def needs_rounds(self) -> bool:
        """Whether the end of each round must be reported."""
        return self.bar is not None or self.hooks is not None

    def __call__(self, event: list[Any]) -> None:
        kind, *what = event
        getattr(self, kind)(*what)

    def message(self, text: str, category: str | None) -> None:
        """Show a message or a warning."""
        if category is None:
            callbacks.say(text)
        else:
            warn(text, _CATEGORIES[category])

    def round(
        self, iteration: int, begin: int, end: int, results: list[list[Any]]
    ) -> None:
        """Report the end of a round to the progress bar and to scikit-learn."""
        if self.bar is not None:
            evaluated = [EvalResult(*result) for result in results]
            self.bar(CallbackEnv(None, {}, iteration, begin, end, evaluated))
        hooks = self.hooks
        if hooks is not None and hooks.after_round(iteration - begin, _no_model):
            raise RuntimeError(
                "A callback of scikit-learn cannot stop a fit on a cluster. Use a"
                " callback of skgoss that raises EarlyStopException."
            )

    def close(self) -> None:
        """Close the progress bar, after a fit that ended in any way."""
        if self.bar is not None:
            self.bar.close()


def _no_model() -> dict[str, Any]:
    raise RuntimeError(
        "Callbacks of scikit-learn cannot use the model of a round on a cluster. Pass"
        " evaluation sets to fit instead: their metrics are computed on the workers."
    )


def _call_pickled(pickled: bytes, *args: Any) -> FittedModel:
    """Call a pickled function.

    Users' functions may be in modules that workers do not have. If Dask itself
    unpickled such a function, the worker would be lost.
    """
    return pickle.loads(pickled)(*args)


def run(
    client: Client, work: Work, delayed: Mapping[Any, Delayed], events: ClientEvents
) -> FittedModel:
    """Fit on the workers that hold parts of the data, and return the model.

    ``delayed`` are the parts as `parts.cut` returns them. ``events`` handles what the
    processes report: messages and rounds.
    """
    name = f"{type(work.estimator).__name__}.fit"
    futures = client.compute(list(delayed.values()))
    held = dict(zip(delayed, futures, strict=True))
    pickled = pickle.dumps(work)
    try:
        return launch.run(
            client, held, partial(_call_pickled, pickled), name=name, on_event=events
        )
    finally:
        events.close()
        # The traceback of a part's error refers to frames that hold the parts.
        for future in futures:
            future.release()
