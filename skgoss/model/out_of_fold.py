"""Predictions for rows that a model was tested on, but not fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.utils.plain_values import Types, are_numbers, check_scores, entries, vector

Floats = NDArray[np.float64]

_STATE: Types = {"scores": np.ndarray, "metrics": dict, "calibration": (dict, NoneType)}
_COUNT: Types = {"n_starts": Integral}
_CALIBRATION: Types = {
    "target": np.ndarray,
    "weight": (np.ndarray, NoneType),
    "tests": np.ndarray,
    "test_of_row": np.ndarray,
    "fold_of_round": np.ndarray,
}
_ADDED: Types = {"added": (np.ndarray, NoneType)}
_OWNER = "the out-of-fold predictions"


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """The rows that intervals are calibrated on, and the folds that test each."""

    target: Floats  # (n_rows,): numbers of the classes in classification
    weight: Floats | None  # (n_rows,): None: ones
    # (n_tests, n_folds): each row is a set of folds that test the same rows.
    tests: NDArray[np.bool_]
    # (n_rows,): the set of each row; -1: no fold tests it.
    test_of_row: NDArray[np.int32]
    # (n_rounds,): the fold that a round of the model belongs to; -1: it is one of
    # ``init_model``, which all folds share. All are 0 if one model was fitted on all
    # rows.
    fold_of_round: NDArray[np.int32]
    # (n_scores,): the constants that the first trees of the folds have in addition to
    # those of the models that were tested; None: 0.
    added: Floats | None = None

    @classmethod
    def from_folds(
        cls,
        target: Floats,
        weight: Floats | None,
        tested: Sequence[NDArray[np.int64]],
        fold_of_round: NDArray[np.int32],
    ) -> Self:
        """Make it from the rows that each fold tests.

        ``tested`` has their numbers, fold by fold. A row may be tested by several
        folds, as in repeated cross-validation, or by none. For the rest see the
        attributes.
        """
        is_tested = np.zeros((len(target), len(tested)), dtype=bool)
        for fold, rows in enumerate(tested):
            is_tested[rows, fold] = True
        if (is_tested.sum(axis=1) <= 1).all():
            tests = np.eye(len(tested), dtype=bool)
            number = is_tested.argmax(axis=1)
        else:
            tests, number = np.unique(is_tested, axis=0, return_inverse=True)
            first = int(not tests[0].any())
            tests, number = tests[first:], number.reshape(-1) - first
        test_of_row = np.where(is_tested.any(axis=1), number, -1).astype(np.int32)
        # Copies: users may change what they have passed.
        weight = None if weight is None else weight.copy()
        return cls(target.copy(), weight, tests, test_of_row, fold_of_round)

    def for_one_model(self, n_rounds: int) -> Self:
        """The same rows for one model of ``n_rounds`` rounds, instead of one per fold.

        The residuals of the folds then stand for those of that model.
        """
        return replace(
            self,
            tests=np.ones((1, 1), dtype=bool),
            test_of_row=np.minimum(self.test_of_row, 0),
            fold_of_round=np.zeros(n_rounds, dtype=np.int32),
            added=None,
        )

    def state(self) -> dict[str, Any]:
        """The object as a dict of arrays."""
        added = {} if self.added is None else {"added": self.added}
        return {name: getattr(self, name) for name in _CALIBRATION} | added

    @classmethod
    def from_state(cls, state: Any, n_rows: int) -> Self:
        """The object of what `state` returned; ValueError if it is damaged."""
        owner = f"the calibration rows of {_OWNER}"
        target, weight, tests, number, rounds = entries(state, _CALIBRATION, owner)
        target = vector(target, np.float64, "target")
        if weight is not None:
            weight = vector(weight, np.float64, "weight")
        number = vector(number, np.int32, "test_of_row")
        if any(len(v) != n_rows for v in (target, number, weight) if v is not None):
            raise ValueError(f"{owner} must be {n_rows}")
        if not np.isfinite(target).all():
            raise ValueError(f"the targets of {owner} must be finite")
        is_weight = weight is None or (np.isfinite(weight) & (weight >= 0)).all()
        if not is_weight:
            raise ValueError(f"the weights of {owner} must be finite and at least 0")
        if tests.dtype != bool or tests.ndim != 2 or not tests.any(axis=1).all():
            raise ValueError(f"{owner} must have sets of folds")
        _check_numbers(number, len(tests), f"the sets of {owner}")
        rounds = vector(rounds, np.int32, "fold_of_round")
        _check_numbers(rounds, tests.shape[1], f"the folds of {owner}")
        if (rounds[: int((rounds < 0).sum())] >= 0).any():
            raise ValueError("rounds that folds share must be the first ones")
        # Only models with means have it.
        (added,) = entries({"added": None, **state}, _ADDED, owner)
        if added is not None:
            added = vector(added, np.float64, "added")
            if not np.isfinite(added).all():
                raise ValueError(f"the constants of {owner} must be finite")
        return cls(target, weight, tests, number, rounds, added)


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What the models of folds predict for rows that they have not learned from."""

    # (n_rows, n_scores): the raw score of each row, by the model that was not fitted on
    # it; the mean if there are several, NaN if there is none.
    scores: Floats
    # Metrics by name: a list with the value of each fold.
    metrics: Mapping[str, list[float]]
    # What intervals need. None: the trees are no longer those of the folds, predictions
    # lack the rows' initial scores, or there are several targets.
    calibration: CalibrationRows | None = None
    # The number of models whose weighted sum the trees are, each with a start score in
    # its first round. The first rounds of all models come first.
    n_starts: int = 1

    def mean(self) -> dict[str, float]:
        """The mean of each metric over the folds."""
        return {name: float(np.mean(v)) for name, v in self.metrics.items()}

    def standard_error(self) -> dict[str, float]:
        """The standard error of each mean: NaN for a single fold."""
        return {
            name: float(np.std(v, ddof=1) / np.sqrt(len(v))) if len(v) > 1 else np.nan
            for name, v in self.metrics.items()
        }

    def check(self, n_scores: int, n_classes: int | None) -> None:
        """Check that it belongs to a model of ``n_scores``; ValueError if it does not.

        ``n_classes`` is None if the model has no classes.
        """
        rows = self.calibration
        if rows is None:
            return
        if self.scores.shape[1] != n_scores:
            raise ValueError(f"{_OWNER} must have {n_scores} columns")
        if rows.added is not None and len(rows.added) != n_scores:
            raise ValueError(f"{_OWNER} must have {n_scores} constants")
        is_tested = rows.test_of_row >= 0
        if not np.isfinite(self.scores[is_tested]).all():
            raise ValueError(f"{_OWNER} must be finite where folds test a row")
        if (
            n_classes is not None
            and not np.isin(rows.target, np.arange(n_classes)).all()
        ):
            raise ValueError(f"the targets of {_OWNER} must be numbers of classes")

    def for_all_rows(self, n_rounds: int, n_starts: int) -> Self:
        """The same for a model that was fitted on all rows."""
        rows = self.calibration
        calibration = rows and rows.for_one_model(n_rounds)
        return replace(self, calibration=calibration, n_starts=n_starts)

    def with_added(self, added: Floats) -> Self:
        """The same for trees with constants, (n_scores,): see `CalibrationRows`."""
        rows = self.calibration
        return replace(self, calibration=rows and replace(rows, added=added))

    def without_folds(self) -> Self:
        """The same for a model whose trees have changed."""
        return replace(self, calibration=None)

    def state(self) -> dict[str, Any]:
        """The object as dicts, numbers and arrays."""
        return {
            "scores": self.scores,
            "metrics": dict(self.metrics),
            "calibration": self.calibration and self.calibration.state(),
            "n_starts": self.n_starts,
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """The object of what `state` returned; ValueError if it is damaged."""
        scores, metrics, calibration = entries(state, _STATE, _OWNER)
        if scores.dtype != np.float64 or scores.ndim != 2:
            raise ValueError(f"{_OWNER} must be a two-dimensional array of float64")
        check_scores({"folds": metrics}, _OWNER, are_numbers)
        if calibration is not None:
            calibration = CalibrationRows.from_state(calibration, len(scores))
        # Files of earlier versions do not have it.
        n_starts = int(entries({"n_starts": 1, **state}, _COUNT, _OWNER)[0])
        if n_starts < 1:
            raise ValueError(f"'n_starts' of {_OWNER} must be at least 1")
        return cls(scores, metrics, calibration, n_starts)


def _check_numbers(numbers: NDArray[np.int32], stop: int, name: str) -> None:
    """Check that numbers are from -1, which stands for none, to ``stop - 1``."""
    if len(numbers) and (numbers.min() < -1 or numbers.max() >= stop):
        raise ValueError(f"{name} must be numbered from 0 to {stop - 1}, or -1")
