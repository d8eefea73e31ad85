"""Other packages: what is private to them or bound to a version, or may be absent."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import threading
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _get_feature_names,
)

from skgoss._engine import runtime
from skgoss.utils import messages

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from sklearn import callback as _callback
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9
    _callback = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn has no callbacks yet."""


def with_callbacks(method: Function) -> Function:
    """Let a method run scikit-learn's callbacks, where it has them.

    Its own decorator has no types, which would hide those of the method.
    """
    return method if _callback is None else _callback.with_callbacks(method)


class SummaryMixin:
    """Adds a summary of a fitted estimator to what notebooks show of it.

    scikit-learn's diagram of the parameters stays as it is. The summary is the HTML
    that the method ``_html_summary`` returns.
    """

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._html_summary()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # not if sklearn.config_context(display="text")
            bundle["text/html"] += self._html_summary()
        return bundle


_REFUSES_ZEROS = (
    "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters
)


def sample_weights(
    sample_weight: Any, y: np.ndarray, *, may_be_zero: bool = False
) -> np.ndarray:
    """Check weights by scikit-learn's rules.

    Parameters
    ----------
    sample_weight : number or array-like of shape (n_samples,)
    y : ndarray of shape (n_samples,)
    may_be_zero : bool, default=False
        Whether all of them may be zero.

    Returns
    -------
    ndarray of shape (n_samples,), float64

    Raises
    ------
    ValueError
        If a weight is negative or not finite; since scikit-learn 1.9, also if all of
        them are zero.
    """
    options = {"allow_all_zero_weights": may_be_zero} if _REFUSES_ZEROS else {}
    return _check_sample_weight(
        sample_weight, y, dtype=np.float64, ensure_non_negative=True, **options
    )


def optional(module: str, user: str, otherwise: str = "") -> ModuleType:
    """Import a module of a package that skgoss does not depend on.

    Parameters
    ----------
    module : str
    user : str
        What needs it, for the message.
    otherwise : str, default=""
        What to do without the package, for the message.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(user, module.partition(".")[0], otherwise=otherwise) from error


def version() -> str:
    """The version of skgoss; '' if the package is not installed."""
    try:
        return metadata.version("skgoss")
    except metadata.PackageNotFoundError:
        return ""


def missing(user: str, *packages: str, otherwise: str = "") -> ImportError:
    """The error that says what to install. See `optional` for the arguments."""
    return ImportError(
        f"{user} needs {' and '.join(packages)}:"
        f" python -m pip install {' '.join(packages)}{otherwise}"
    )


@functools.lru_cache(maxsize=64)
def _class_named(name: str) -> type:
    return type(name, (), {})


def _estimator_named(name: str, **attributes: Any) -> Any:
    """What scikit-learn's checks take for a fitted estimator of this name."""
    estimator = _class_named(name)()
    vars(estimator).update(attributes)
    return estimator


def feature_names(X: Any) -> NDArray[Any] | None:
    """The names of the columns by scikit-learn's rules; None if there are none."""
    return _get_feature_names(X)


def check_feature_names(X: Any, fitted: NDArray[Any] | None, owner: str) -> None:
    """Check names of columns against those of the fit, with scikit-learn's messages."""
    names = {} if fitted is None else {"feature_names_in_": fitted}
    _check_feature_names(_estimator_named(owner, **names), X, reset=False)


def check_n_features(X: Any, fitted: int, owner: str) -> None:
    """Check the number of columns against that of the fit, likewise."""
    _check_n_features(_estimator_named(owner, n_features_in_=fitted), X, reset=False)


def pandas_blocks(frame: Any) -> list[tuple[np.ndarray, Any]]:
    """Where pandas keeps the columns of a frame.

    Parameters
    ----------
    frame : pandas DataFrame

    Returns
    -------
    list of tuples
        The numbers of some columns, int64; and their values, an ndarray of shape
        (n_columns, n_rows) or the extension array of a single column. Empty if the
        version of pandas has no blocks.
    """
    blocks = getattr(frame._mgr, "blocks", ())
    return [(block.mgr_locs.as_array, block.values) for block in blocks]


def pandas_exact_floats(pandas: ModuleType) -> dict[str, str]:
    """The arguments by which ``read_csv`` reads floats exactly.

    pandas always does since 3.1, where the argument is deprecated.
    """
    major, minor = (int(word) for word in pandas.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


class NoHooks:
    """Stands where nobody listens to the rounds of a fit."""

    def begin(self) -> None:
        """Do nothing."""

    def after_round(self, index: int, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Go on."""
        return False

    def end(self) -> None:
        """Do nothing."""


class RoundHooks:
    """Tells scikit-learn's callbacks about the rounds of a fit."""

    def __init__(
        self, estimator: Any, n_rounds: int | None, data: dict[str, Any]
    ) -> None:
        self._context = estimator._init_callback_context(max_subtasks=n_rounds)
        self._n_rounds = n_rounds
        self._data = {"estimator": estimator, **data}
        self._round: Any = None

    def begin(self) -> None:
        """The first round begins."""
        self._context.call_on_fit_task_begin(**self._data)
        self._begin_round()

    def _begin_round(self) -> None:
        self._round = self._context.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self._data)

    def after_round(self, index: int, attributes: Callable[[], dict[str, Any]]) -> bool:
        """A round has ended; True asks to stop.

        ``attributes()`` returns those that make the estimator a fitted one.
        """
        stop = self._end_round(attributes)
        if not stop and (self._n_rounds is None or index + 1 < self._n_rounds):
            self._begin_round()
        return stop

    def _end_round(self, attributes: Any) -> bool:
        ended, self._round = self._round, None
        return ended.call_on_fit_task_end(
            **self._data, reconstruction_attributes=attributes
        )

    def end(self) -> None:
        """The fit has ended, and the estimator is fitted."""
        if self._round is not None:  # it could not split, or stopped the fit early
            self._end_round({})
        self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def round_hooks(
    estimator: Any, n_rounds: int | None, **data: Any
) -> RoundHooks | NoHooks:
    """The hooks of an estimator's callbacks.

    Parameters
    ----------
    estimator : estimator
        It must be inside a method decorated by ``with_callbacks``.
    n_rounds : int or None
        None: it is not known.
    **data
        ``X``, ``y`` and ``metadata`` as the user gave them.
    """
    names = ("_skl_callbacks", "_parent_callback_ctx")
    if any(hasattr(estimator, name) for name in names):
        return RoundHooks(estimator, n_rounds, data)
    return NoHooks()


def _cores(*, only_physical: bool) -> int:
    """The cores that this process may use: by its affinity, cgroup and environment."""
    affinity = getattr(os, "sched_getaffinity", lambda process: ())(0)
    limit = os.environ.get("LOKY_MAX_CPU_COUNT")
    return _known_cores(only_physical, frozenset(affinity), limit)


@functools.cache
def _known_cores(
    only_physical: bool, affinity: frozenset[int], limit: str | None
) -> int:
    """The same for one affinity and environment.

    joblib reads the files of the cgroup each time, longer than a row is predicted.
    """
    return joblib.cpu_count(only_physical_cores=only_physical)


# So many threads may run on any machine, however few cores it has.
FEW_THREADS = 8


@functools.cache
def _most_threads() -> int:
    return max(os.cpu_count() or 1, FEW_THREADS)


# OpenMP has a team for each thread of Python: the largest size that could start.
_tried = threading.local()


def _startable(n_threads: int) -> int:
    """How many of these threads the system lets start.

    OpenMP ends the process if one cannot be. Then half of those that can are used:
    others need threads, too.
    """
    if n_threads <= getattr(_tried, "size", 1):
        return n_threads
    n_started = _start_threads(n_threads - 1)
    if n_started < n_threads - 1:
        fewer = 1 + n_started // 2
        messages.warn(
            f"{n_threads} threads cannot be started, so {fewer} are used. Increase the "
            "limit of processes (ulimit -u), or set a smaller n_jobs.",
            RuntimeWarning,
        )
        n_threads = fewer
    _tried.size = n_threads
    return n_threads


def _start_threads(n: int) -> int:
    """How many threads, of n, can be there at once. They end before it returns."""
    end = threading.Event()
    threads = []
    try:
        for _ in range(n):
            thread = threading.Thread(target=end.wait)
            thread.start()
            threads.append(thread)
    except RuntimeError:  # of Python, where the system starts no more
        pass
    finally:
        end.set()
        for thread in threads:
            thread.join()
    return len(threads)


class _Team:
    """Whether threads have been used, and whether they can still be."""

    used = False
    lost = False

    @classmethod
    def after_fork(cls) -> None:
        # GNU OpenMP waits for ever for threads that did not survive the fork.
        cls.lost = cls.lost or cls.used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Team.after_fork)


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for, here and now.

    Parameters
    ----------
    n_jobs : int or None
        None or 0: ``OMP_NUM_THREADS``, or else the physical cores that this process
        may use, but not more than threadpoolctl or joblib allow. Negative: as in
        joblib, -1 is all logical cores, -2 one less, within the same limits.

    Returns
    -------
    int
        At least 1, and at most the logical cores of the machine, or 8 where it has
        fewer. 1 in a child of ``os.fork`` whose parent has used threads. Fewer, with a
        warning, where the system does not let so many start.
    """
    if _Team.lost:
        return 1
    threads = _startable(allowed_threads(n_jobs))
    _Team.used = _Team.used or threads > 1
    return threads


def allowed_threads(n_jobs: int | None) -> int:
    """The same number without a look at forks and at what can be started."""
    return min(_wanted_threads(n_jobs), _most_threads())


def _wanted_threads(n_jobs: int | None) -> int:
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    limit = runtime.max_threads()
    if n_jobs is not None and n_jobs < 0:
        return max(1, min(limit, _cores(only_physical=False) + 1 + n_jobs))
    if "OMP_NUM_THREADS" in os.environ:
        return limit
    return max(1, min(limit, _cores(only_physical=True)))
