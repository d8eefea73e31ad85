"""How rows are split into folds: splitters, groups and time, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from skgoss.binning.rows import Rows
from skgoss.columns import column_advice, lifetimes, per_row
from skgoss.dataset import fields
from skgoss.fit.task import Task
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import warn

Indices = NDArray[np.int64]
# The training rows, and those to test on.
Pair = tuple[Indices, Indices]

# The largest number of rows on which the predictions of the folds' models are compared.
MAX_COMPARED = 50_000


@dataclass(frozen=True, eq=False)
class Splits:
    """The rows of a fit that are split, and what they are split by.

    ``rows`` are those of all processes, and so are all numbers of rows. Those of weight
    0 have no influence. Rows of the same of the ``groups``, which messages call
    ``things``, stay together. With ``time``, later rows are tested. Else each fold has
    the same fraction of each of the ``labels``, if there are any.
    """

    rows: Rows
    labels: NDArray[Any] | None
    groups: NDArray[Any] | None
    time: Indices | None
    things: str
    task: Task
    settings: Settings

    def of_option(
        self, splitter: Any, broadcast: Callable[[Callable[[], Any]], Any]
    ) -> list[Pair]:
        """The folds of the option ``folds``, all of which are checked."""
        if isinstance(splitter, int):
            return self._of_number(splitter)
        # Two calls of a splitter may give different folds.
        y = self._labels_or_targets if self.task.is_soft else self.rows.target
        found = broadcast(lambda: pairs(splitter, y, self.groups, "folds"))
        for number, pair in enumerate(found):
            self._check_pair(number, *pair)
        return found

    def _of_number(self, n_folds: int) -> list[Pair]:
        """Folds by time, if there are times, or else of equal size.

        No fold learns from rows of weight 0: see `with_zero_weights`.
        """
        at = self.weighted()
        if self.time is None:
            check_number(
                n_folds,
                self._labels_or_targets[at],
                None if self.groups is None else self.groups[at],
                stratify=self.labels is not None,
                argument="folds",
                owner="X",
                things=self.things,
            )
        if self.labels is not None and self.time is None and self.groups is None:
            self._warn_of_rare_classes(n_folds, at)
        return self.with_zero_weights(self.of_equal_size(n_folds, at))

    def _warn_of_rare_classes(self, n_folds: int, at: Indices) -> None:
        """Warn if a class has fewer rows than there are folds.

        A class of one row is the matter of `_warn_of_missing_classes`.
        """
        task, settings = self.task, self.settings
        if task.tasks or task.is_soft or task.classes is None or self.labels is None:
            return
        if "folds" not in settings.explicit:
            return
        n_rows = np.bincount(self.labels[at].astype(int), minlength=len(task.classes))
        rare = np.flatnonzero((n_rows > 1) & (n_rows < n_folds))
        if len(rare):
            names = task.classes[rare[:5]].tolist()
            shown = ", ".join(
                f"{name!r} ({n} rows)"
                for name, n in zip(names, n_rows[rare], strict=False)
            )
            warn(
                f"Classes have fewer rows than folds={n_folds}, so some folds cannot"
                f" test them: {shown}. Set folds={n_rows[rare].min()}, or join or leave"
                " out rare classes."
            )

    def with_zero_weights(self, found: list[Pair]) -> list[Pair]:
        """Folds of the other rows that also test those of weight 0."""
        ignored = np.delete(np.arange(len(self.rows.target)), self.weighted())
        return also_tested(ignored, found, self.groups, self.time)

    def weighted(self) -> Indices:
        """The rows whose weight is not 0."""
        rows = self.rows
        if rows.weight is None:
            return np.arange(len(rows.target))
        return np.flatnonzero(rows.weight)

    def most_folds(self, at: Indices) -> int:
        """The largest number of folds of some of the rows."""
        if self.time is not None:
            return len(np.unique(self.time[at])) - 1
        groups = None if self.groups is None else self.groups[at]
        labels = self._labels_or_targets[at]
        n = most(labels, groups, stratify=self.labels is not None)[0]
        # Of lifetimes, each fold needs an event.
        return min(n, int((~labels).sum())) if labels.dtype == bool else n

    def of_equal_size(self, n_folds: int, at: Indices) -> list[Pair]:
        """Folds of some of the rows."""
        groups = None if self.groups is None else self.groups[at]
        if self.time is not None:
            found = by_time(n_folds, self.time[at], groups, f"folds={n_folds}")
        else:
            found = of_equal_size(
                n_folds,
                self._labels_or_targets[at],
                groups,
                stratify=self.labels is not None,
                seed=self.settings.random_state,
            )
        found = [(at[train], at[test]) for train, test in found]
        for number, pair in enumerate(found):
            self._check_learnable(number, *pair)
        return found

    @property
    def _labels_or_targets(self) -> NDArray[Any]:
        return self.rows.target if self.labels is None else self.labels

    def _check_pair(self, number: int, train: Indices, test: Indices) -> None:
        """Check that a fold is tested on other rows, other groups and later times."""
        self._check_learnable(number, train, test)
        n_seen = len(np.intersect1d(train, test, assume_unique=True))
        if n_seen:
            warn(
                f"Fold {number} is tested on {n_seen} of its training rows: out-of-fold"
                " predictions, scores and intervals are too optimistic."
            )
            return
        groups, time = self.groups, self.time
        if groups is not None and np.isin(groups[train], groups[test]).any():
            raise ValueError(
                f"folds split {self.things}: both parts of fold {number} have rows of"
                " the same one. Pass a number, or GroupKFold(...)."
            )
        if time is not None and time[train].max() >= time[test].min():
            raise ValueError(
                f"folds contradict time: fold {number} trains on rows that are not"
                " earlier than all rows that it tests. Pass a number. TimeSeriesSplit"
                " needs rows that are sorted by time."
            )

    def _check_learnable(self, number: int, *pair: Indices) -> None:
        """Check that both sides of a fold have weights, events and all targets."""
        rows, settings = self.rows, self.settings
        lives = self.labels is not None and self.labels.dtype == bool
        advice = "Set folds to other rows or to a smaller number"
        if settings.preset is not None and "folds" not in settings.explicit:
            advice = "Leave the preset out"
        is_users = settings.folds is not None and "folds" in settings.explicit
        if is_users and self.time is None and self.task.n_classes and not lives:
            self._warn_of_missing_classes(number, pair[0])
        for side, at in zip(("train", "test"), pair, strict=True):
            weight = None if rows.weight is None else rows.weight[at]
            if weight is not None and not weight.any():
                raise ValueError(
                    f"All {side} rows of fold {number} have the weight 0. {advice}, or"
                    " pass other weights."
                )
            try:
                if self.task.tasks:
                    self.task.check_learnable(rows.target[at], weight)
                if lives:
                    lifetimes.check_events(rows.target[at], weight)
            except ValueError as error:
                raise ValueError(
                    f"The {side} rows of fold {number}: {error} {advice}."
                ) from error

    def _warn_of_missing_classes(self, number: int, train: Indices) -> None:
        """Warn if the training rows of a fold lack a class."""
        if self.task.tasks:
            return  # each column of several targets has its own classes
        labels, classes = np.asarray(self.labels), self.task.classes
        missing = np.setdiff1d(labels, labels[train]).astype(int)
        if len(missing) and classes is not None:
            shown = ", ".join(repr(label) for label in classes[missing[:5]].tolist())
            warn(
                f"The training rows of fold {number} lack the class {shown}, which its"
                " model cannot predict. Set folds to a number or StratifiedKFold, which"
                " spread the classes."
            )


def check_number(
    n_folds: Any,
    target: NDArray[np.float64],
    groups: NDArray[Any] | None,
    *,
    stratify: bool,
    argument: str,
    owner: str,
    things: str = "groups",
) -> None:
    """Check that there are enough rows, groups or rows of a class; else ValueError.

    The rows of a group, such as a query, are in the same fold. If ``stratify``, each
    fold has the same fraction of each class. Messages call the number of folds
    ``argument``, what has the rows ``owner``, and the groups ``things``.
    """
    if not (isinstance(n_folds, int | np.integer) and n_folds >= 2):
        raise ValueError(f"{argument} must be an int of at least 2, got {n_folds!r}.")
    n, words = most(target, groups, stratify=stratify and len(target) >= int(n_folds))
    if n < n_folds:
        advice = f"Set {argument} to a smaller number."
        found = f"{n} (n_samples={len(target)})"
        if n == 1 and groups is not None:
            found = "only one, so that no rows are left to test on"
            other = things if things == "groups" else argument
            advice = f"Pass {things} that differ, or leave {other} out."
        raise ValueError(
            f"{argument}={n_folds} needs at least {n_folds} {words or things}, but"
            f" {owner} has {found}. {advice}"
        )


def most(
    target: NDArray[np.float64], groups: NDArray[Any] | None, *, stratify: bool
) -> tuple[int, str]:
    """The largest number of folds, and what there must be one of in each fold.

    The second is empty for groups. For the arguments see `check_number`.
    """
    if groups is not None:
        return len(np.unique(groups)), ""
    if stratify:
        return int(np.unique(target, return_counts=True)[1].max()), "rows of a class"
    return len(target), "rows"


def of_equal_size(
    n_folds: int,
    target: NDArray[np.float64],
    groups: NDArray[Any] | None,
    *,
    stratify: bool,
    seed: int,
) -> list[Pair]:
    """Folds of random rows: see `check_number` for the parameters.

    The numbers of rows of a class in two folds differ by 1 at most.

    The result has the training and the test rows of each fold.
    """
    if groups is not None:
        return pairs(GroupKFold(n_folds), target, groups, "folds")
    order = np.random.default_rng(seed).permutation(len(target))
    if stratify:
        order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), dtype=np.int64)
    fold[order] = np.arange(len(target)) % n_folds
    return [
        (np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_folds)
    ]


def sample(at: Indices, groups: NDArray[Any] | None, n_rows: int, seed: int) -> Indices:
    """About ``n_rows`` of the rows whose ascending numbers are ``at``, at random.

    ``groups`` are those of all rows, not only of ``at``. A group is drawn with all its
    rows in ``at``, or not at all: as many groups as ``n_rows`` can hold, at least one.
    """
    random = np.random.default_rng(seed)
    if groups is None:
        return np.sort(random.choice(at, n_rows, replace=False))
    _, number, size = np.unique(groups[at], return_inverse=True, return_counts=True)
    order = random.permutation(len(size))
    is_chosen = np.zeros(len(size), dtype=bool)
    is_chosen[order[np.cumsum(size[order]) <= n_rows]] = True
    is_chosen[order[:1]] = True  # even if it has more rows
    return at[is_chosen[number]]


def by_time(
    n_folds: int,
    time: Indices,
    groups: NDArray[Any] | None,
    argument: str,
    first: float = 0.5,
) -> list[Pair]:
    """Folds that test later rows than they learn from.

    The rows after the fraction ``first`` are cut into windows of about equal size,
    between different times. A fold tests a window and learns from all rows before it.
    Of groups with rows in both, it tests one in three and learns from the others.
    ValueError, which names the ``argument``, if there are too few times or rows.
    """
    times, n_rows = np.unique(time, return_counts=True)
    if len(times) <= n_folds:
        advice = "Set a smaller number" if len(times) > 2 else "Leave time out"
        raise ValueError(
            f"{argument} needs at least {n_folds + 1} different times, but there are"
            f" {len(times)} (n_samples={len(time)}). {advice}."
        )
    wanted = np.rint(np.linspace(first, 1, n_folds, endpoint=False) * len(time))
    number = np.arange(n_folds)
    # No window is without times, whatever the times of the rows.
    start = np.searchsorted(np.cumsum(n_rows) - n_rows, wanted).clip(min=1)
    start = np.maximum.accumulate(start - number) + number
    start = np.minimum(start, len(times) - n_folds + number)
    window = np.searchsorted(times[start], time, side="right") - 1
    pairs = [(np.flatnonzero(window < i), np.flatnonzero(window == i)) for i in number]
    if groups is None:
        return pairs
    for i, (train, test) in enumerate(pairs):
        both = np.intersect1d(groups[train], groups[test])
        tested = both[i % min(3, len(both) or 1) :: 3]
        train = train[~np.isin(groups[train], tested)]
        test = test[~np.isin(groups[test], np.setdiff1d(both, tested))]
        if not (len(train) and len(test)):
            raise ValueError(
                f"{argument}: all rows before or after a time are of one group, which"
                f" cannot be on both sides (fold {i}). Leave out groups or time."
            )
        pairs[i] = train, test
    return pairs


def also_tested(
    at: Indices, pairs: list[Pair], groups: NDArray[Any] | None, time: Indices | None
) -> list[Pair]:
    """Folds that also test the rows ``at``, which had no influence on them.

    Each is in one fold, which learns neither from its group nor from later times. If
    there is no such fold, it is in none.
    """
    number = np.arange(len(at)) % len(pairs)
    if time is not None:
        starts = [time[test].min() for _, test in pairs]
        number = np.searchsorted(starts, time[at], side="right") - 1
    elif groups is not None:
        number = np.unique(groups[at], return_inverse=True)[1] % len(pairs)
        for i, (_, test) in enumerate(pairs):
            number[np.isin(groups[at], groups[test])] = i
    joined = []
    for i, (train, test) in enumerate(pairs):
        added = at[number == i]
        if groups is not None:
            added = added[~np.isin(groups[added], groups[train])]
        joined.append((train, np.sort(np.concatenate([test, added]))))
    return joined


def pairs(
    folds: Any, target: NDArray[np.float64], groups: NDArray[Any] | None, argument: str
) -> list[Pair]:
    """The training rows and the test rows, of each fold.

    ``folds`` is a splitter of scikit-learn, or has pairs (train, test) of row numbers;
    else ValueError, which names the ``argument``. A splitter gets the ``groups``. The
    row numbers that are returned are ascending and distinct.
    """
    checked = [
        _pair(argument, i, pair, len(target))
        for i, pair in enumerate(_split(folds, target, groups, argument))
    ]
    if not checked:
        raise ValueError(f"{argument} must hold at least one pair of row numbers.")
    return checked


def checked_groups(groups: Any, n_rows: int) -> NDArray[Any] | None:
    """The group of each row; None without any."""
    return None if groups is None else per_row.sortable(groups, n_rows, "groups")


def checked_times(time: Any, n_rows: int) -> Indices:
    """The ranks of the rows' times: 0 for the earliest, equal ones for equal times.

    ValueError if a time is missing or all are equal, TypeError if they are text.
    """
    values = per_row.values(time, n_rows, "time")
    is_object = values.dtype.kind in "USO"
    text = [v for v in values.tolist() if isinstance(v, str | bytes)] * is_object
    if text:
        how = column_advice.how_to_convert(time, "time", text)
        raise TypeError(
            "time must hold numbers or dates, got text, which may sort differently."
            f" Convert it to numbers or dates{how}."
        )
    number = per_row.distinct(values, "time")[1]
    if not number.any():
        raise ValueError(
            f"time must differ between rows, but all are {values[0]}. Leave time out."
        )
    return number


def _split(
    folds: Any, target: NDArray[np.float64], groups: NDArray[Any] | None, argument: str
) -> list[Any]:
    """The pairs of a splitter, or else the pairs themselves.

    Errors of a splitter name the argument. ``target`` and ``groups``, (n_rows,), are
    what the splitter gets; None: there are no groups.
    """
    if isinstance(folds, type):
        raise ValueError(f"{argument} is the class {folds.__name__}: pass an object.")
    if not hasattr(folds, "split"):
        return list(folds)
    X = np.zeros((len(target), 1))
    options = {} if groups is None else {"groups": groups}
    try:
        return list(folds.split(X=X, y=target, **options))
    except (TypeError, ValueError) as error:
        is_of_groups = not options and "groups" in str(error)
        advice = " Pass the argument groups." if is_of_groups else ""
        raise ValueError(
            f"{argument}={folds!r} cannot split the {len(target)} rows: {error}{advice}"
        ) from error


def _pair(argument: str, index: int, pair: Any, n_rows: int) -> Pair:
    """A pair of row numbers, checked; errors name its ``index``."""
    what = "the pair"
    try:
        train, test = pair
        what = "train"
        rows = fields.row_numbers(train, n_rows)
        what = "test"
        return rows, fields.row_numbers(test, n_rows)
    except (TypeError, ValueError) as error:
        words = str(error).replace("used_indices", what)
        raise ValueError(
            f"{argument} must hold pairs of row numbers (train, test); fold {index}:"
            f" {words}"
        ) from error
