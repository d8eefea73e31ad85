"""Gradients and hessians of distributions, and of functions that users pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.floats import check_unmasked
from skgoss.columns.queries import Queries
from skgoss.objectives import distributions
from skgoss.objectives.user_functions import UserFunction

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Writes gradients and hessians: scores, gradients, hessians, number of threads.
Derivatives = Callable[[Floats, Singles, Singles | None, int], None]


class Likelihood:
    """The negative log-likelihood of a distribution, whose parameters are the scores.

    Hessians are the Fisher information. The spread learns from errors as large as those
    of new rows, which are larger by ``exp(optimism)``, in half Newton steps. All steps
    are shorter by ``shrinkage``, (n_scores,).
    """

    def __init__(self, name: str, y: Floats, n_scores: int) -> None:
        self.name = name
        self.y = y
        self.optimism = 0.0
        self.shrinkage = np.zeros(n_scores)

    @property
    def by_errors(self) -> tuple[float, ...]:
        return distributions.DISTRIBUTIONS[self.name].by_errors

    def __call__(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int,
    ) -> None:
        assert hessian_out is not None
        out = gradient_out, hessian_out
        learned = distributions.of_learning(self.name, scores, self.optimism)
        distributions.derivatives(self.name, self.y, learned, n_threads, out)
        gradient_out[1:], hessian_out[1:] = self.of_spread(scores, n_threads)
        gradient_out[1:] *= np.float32(0.5)
        gradient_out *= 1.0 - self.shrinkage[:, None]

    def exact(self, scores: Floats, n_threads: int) -> Singles:
        """The derivatives of the likelihood itself, (2, n_scores, n_rows)."""
        return distributions.derivatives(self.name, self.y, scores, n_threads)

    def of_spread(self, scores: Floats, n_threads: int) -> Any:
        """The slopes and the information of all scores but the first.

        All far errors count as they do on average: `Distribution.far`. This is the
        likelihood of targets that are censored there: C. Diks, V. Panchenko and D. van
        Dijk, "Likelihood-Based Scoring Rules for Comparing Density Forecasts in
        Tails", Journal of Econometrics 163, 2011. Scores beyond their limits have no
        effect, so nothing moves them farther.
        """
        honest = distributions.with_errors(
            self.name, self.y, scores, self.optimism, n_threads
        )
        of_all = distributions.derivatives(self.name, self.y, honest, n_threads)
        distribution = distributions.DISTRIBUTIONS[self.name]
        begin, mean = distribution.far
        scale = of_all[0, 1]
        scale[scale < begin] = mean
        for k, limit in enumerate(distribution.limits, 1):
            score = honest[k]
            if max(score.max(initial=0.0), -score.min(initial=0.0)) > limit:
                beyond = np.abs(score) > limit
                of_all[0, k, beyond & (of_all[0, k] * score < 0)] = 0.0
        return of_all[:, 1:]


class Custom:
    """A function of the user: see `make_objective`."""

    def __init__(
        self,
        function: Callable[..., Any],
        y: Floats,
        weight: Floats | None,
        queries: Queries | None,
    ):
        self.function = UserFunction(function, "objective")
        self.name = self.function.name
        self.weighs_rows = self.function.takes_weight
        # Sizes of queries describe rows that are sorted by query.
        takes_group = queries is not None and self.function.takes_group
        order = queries.order if queries is not None and takes_group else None
        self.order = slice(None) if order is None else order
        sizes = None if queries is None else queries.sizes
        # Copies, because the function may write to its arguments.
        self.y = y[self.order].copy()
        self.others = (None if weight is None else weight[self.order].copy(), sizes)

    def __call__(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int,
    ) -> None:
        result = self.function(self.y, scores[:, self.order], *self.others)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ValueError(
                f"The objective function {self.name!r} must return two arrays, the "
                f"gradient and the hessian, got {type(result).__name__}."
            )
        for what, values, out in zip(
            ("gradient", "hessian"), result, (gradient_out, hessian_out), strict=True
        ):
            assert out is not None
            self._store(what, values, out)

    def _store(self, what: str, values: Any, out: Singles) -> None:
        check_unmasked(values, f"The {what} of the objective function {self.name!r}")
        values = np.asarray(values)
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"The objective function {self.name!r} must return numbers, but the "
                f"{what} has dtype {values.dtype}."
            )
        n_scores, n = out.shape
        if values.shape == (n * n_scores,):
            values = values.reshape((n, n_scores), order="F")
        if values.shape != (n, n_scores):
            expected = (n,) if n_scores == 1 else (n, n_scores)
            raise ValueError(
                f"The objective function {self.name!r} must return a {what} of shape "
                f"{expected}, got {values.shape}."
            )
        with np.errstate(over="ignore"):
            out[:, self.order] = values.T
        if not np.isfinite(out).all():
            raise ValueError(
                f"The objective function {self.name!r} returned NaN, infinity or a "
                f"number beyond float32 in the {what}."
            )
