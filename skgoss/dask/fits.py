"""A fit on a cluster: what the client does, and what each worker does."""

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
    """The options of a fit, which no worker has seen yet.

    ValueError if one of them has an invalid value, or cannot be used on a cluster.
    """
    # The workers' fit warns of the same.
    token = LISTENER.set(lambda message, category: None)
    try:
        settings = estimator._settings(X, arguments)
    finally:
        LISTENER.reset(token)
    check_can_be_distributed(settings)
    return settings


@dataclass(frozen=True)
class Work:
    """What each process of a fit does."""

    estimator: LGBMModel  # a local one, to be fitted
    arguments: FitArguments  # those that do not belong to a set of rows
    sets: list[InputSet]  # as `parts.cut` returns them
    reports_rounds: bool  # whether each round is an event for the client

    def __call__(
        self, collectives: DaskCollectives, held: dict[Any, parts.Part], n_threads: int
    ) -> FittedModel:
        """Fit a model to the rows of this process."""
        # Other processes would say the same as the first.
        tell = collectives.tell if collectives.rank == 0 else lambda event: None
        token = LISTENER.set(
            lambda text, kind: tell(["message", text, kind and kind.__name__])
        )
        try:
            return self._model(collectives, held, n_threads, tell)
        finally:
            LISTENER.reset(token)

    def _model(
        self,
        collectives: DaskCollectives,
        held: dict[Any, parts.Part],
        n_threads: int,
        tell: Callable[[Any], None],
    ) -> FittedModel:
        # To continue from a model, scores are computed from the values.
        is_stacked = self.arguments.init_model is None
        sets = parts.together(collectives, self.sets, held, is_stacked=is_stacked)
        calls = list(self.arguments.callbacks)
        if self.reports_rounds and collectives.rank == 0:
            calls.append(_RoundReporter(tell))
        if collectives.n_ranks == 1:
            calls.append(_CancellationCheck(collectives))
        arguments = dataclasses.replace(self.arguments, callbacks=calls)
        fit = self.estimator._prepare(
            sets,
            arguments,
            self.estimator._settings(sets[0].X, arguments),
            n_threads if self.estimator.n_jobs is None else None,
        )
        # Nothing here holds the rows, which the fit forgets when they are in bins.
        del sets
        return fit.model(Booster._from_model)


class _RoundReporter(Listener):
    """The callback that tells the client of each round."""

    order = 5
    only_watches = True

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self.tell = tell

    def __call__(self, env: CallbackEnv) -> None:
        results = [
            [name, metric, float(value), bool(maximize)]
            for name, metric, value, maximize in env.evaluation_result_list
        ]
        rounds = env.iteration, env.begin_iteration, env.end_iteration
        self.tell(["round", *rounds, results])


class _CancellationCheck(Listener):
    """The callback that ends a cancelled fit of one process, which sends nothing."""

    before_iteration = True
    only_watches = True

    def __init__(self, collectives: DaskCollectives) -> None:
        self.collectives = collectives

    def __call__(self, env: CallbackEnv) -> None:
        self.collectives.all_gather(None)


class ClientEvents:
    """What the client does with the events of the processes."""

    def __init__(
        self, settings: Settings, hooks: sklearn_private.RoundHooks | None
    ) -> None:
        self.settings = settings
        self.hooks = hooks
        self.bar = callbacks.ProgressBar() if settings.verbosity >= 1 else None

    @property
    def needs_rounds(self) -> bool:
        """Whether the ends of rounds are events."""
        return self.bar is not None or self.hooks is not None

    def __call__(self, event: list[Any]) -> None:
        kind, *what = event
        getattr(self, kind)(*what)

    def message(self, text: str, category: str | None) -> None:
        """A message, or a warning."""
        if category is None:
            callbacks.say(text)
        else:
            warn(text, _CATEGORIES[category])

    def round(
        self, iteration: int, begin: int, end: int, results: list[list[Any]]
    ) -> None:
        """The end of a round."""
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
        """The fit has ended, perhaps by an error."""
        if self.bar is not None:
            self.bar.close()


def _no_model() -> dict[str, Any]:
    raise RuntimeError(
        "Callbacks of scikit-learn cannot use the model of a round on a cluster. Pass"
        " evaluation sets to fit instead: their metrics are computed on the workers."
    )


def _call_pickled(pickled: bytes, *args: Any) -> FittedModel:
    """Call a pickled function.

    Functions of users may be in modules that workers do not have. If Dask
    unpickled them, the worker would be lost.
    """
    return pickle.loads(pickled)(*args)


def run(
    client: Client, work: Work, delayed: Mapping[Any, Delayed], events: ClientEvents
) -> FittedModel:
    """Fit on the workers that hold parts of the data."""
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
        # An error of a part keeps the frames in which it was raised, and so the parts.
        for future in futures:
            future.release()
