"""Gradients and hessians of distributions and of the user's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import loss_kernels
from skgoss.columns.floats import check_unmasked
from skgoss.columns.queries import Queries
from skgoss.objectives import distributions
from skgoss.objectives.user_functions import UserFunction
from skgoss.utils.messages import warn

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Functions (scores, gradient_out, hessian_out, n_threads) that write derivatives.
Derivatives = Callable[[Floats, Singles, Singles | None, int], None]


class Likelihood:
    """The negative log-likelihood of a distribution, whose parameters are the scores.

    Hessians are the Fisher information. The spread, which is all scores but the first,
    makes half Newton steps, and learns from errors that are larger than those of
    training rows by ``exp(optimism)``, as errors of new rows are. The steps of each
    score are multiplied by 1 - ``shrinkage``, (n_scores,). Both are 0 at first, and
    change from round to round (`skgoss.training.spread`). ``y`` is a `kernel_target`.
    """

    def __init__(self, name: str, y: Floats, n_scores: int) -> None:
        self.name = name
        self.y = y
        self.optimism = 0.0
        self.shrinkage = np.zeros(n_scores)

    @property
    def error_shifts(self) -> tuple[float, ...]:
        """What each score changes by if the logarithm of all errors grows by 1."""
        return distributions.DISTRIBUTIONS[self.name].error_shifts

    def __call__(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int,
    ) -> None:
        assert hessian_out is not None
        out = gradient_out, hessian_out
        learned = distributions.learning_scores(self.name, scores, self.optimism)
        distributions.derivatives(self.name, self.y, learned, n_threads, out)
        gradient_out[1:], hessian_out[1:] = self.spread_derivatives(scores, n_threads)
        gradient_out[1:] *= np.float32(0.5)
        gradient_out *= 1.0 - self.shrinkage[:, None]

    def exact(self, scores: Floats, n_threads: int) -> Singles:
        """The derivatives of the likelihood itself, (2, n_scores, n_rows)."""
        return distributions.derivatives(self.name, self.y, scores, n_threads)

    def spread_derivatives(self, scores: Floats, n_threads: int) -> Any:
        """The derivatives and the Fisher information of all scores but the first.

        The result is (2, n_scores - 1, n_rows). All far errors count as they do on
        average in the distribution, so that outliers do not decide the scale. This is
        the likelihood of targets that are censored there: C. Diks, V. Panchenko and
        D. van Dijk, "Likelihood-Based Scoring Rules for Comparing Density Forecasts in
        Tails", Journal of Econometrics 163, 2011. Scores beyond their limits have no
        effect, so derivatives that would move them farther are set to 0.
        """
        corrected = distributions.with_errors(
            self.name, self.y, scores, self.optimism, n_threads
        )
        both = distributions.derivatives(self.name, self.y, corrected, n_threads)
        slopes, distribution = both[0], distributions.DISTRIBUTIONS[self.name]
        far = distribution.far
        for k, limit in enumerate(distribution.limits, 1):
            loss_kernels.limit_slopes(corrected[k], limit, *far, slopes[k])
            far = distributions.NO_FAR_ERRORS
        return both[:, 1:]


class Custom:
    """The derivatives that a function of the user returns: see `make_objective`."""

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
        # A function that takes the sizes of queries gets rows sorted by query.
        takes_group = queries is not None and self.function.takes_group
        order = queries.order if queries is not None and takes_group else None
        self.order = slice(None) if order is None else order
        sizes = None if queries is None else queries.sizes
        # Copies, because the function may write to its arguments.
        self.y = y[self.order].copy()
        self.weight = None if weight is None else weight[self.order].copy()
        self.sizes = sizes

    def __call__(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int,
    ) -> None:
        predicted = scores[:, self.order]
        result = self.function(self.y, predicted, self.weight, self.sizes)
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
        if hessian_out is not None and hessian_out.size and not (hessian_out > 0).any():
            warn(
                f"The objective function {self.name!r} returned no hessian above 0, so"
                " leaves have no values. Return the second derivative of the loss, or"
                " numpy.ones_like(gradient) if it is 0."
            )

    def _store(self, what: str, values: Any, out: Singles) -> None:
        """Check what the function has returned, and write it in the order of rows.

        ``what`` is "gradient" or "hessian", ``values`` are (n,), (n, n_scores) or flat
        class by class, and ``out`` is (n_scores, n).
        """
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
            hint = ""
            if n_scores == 1 and values.ndim == 2:
                hint = (
                    " For several raw scores of each row, call skgoss.train with"
                    f" num_class={values.shape[1]}."
                )
            raise ValueError(
                f"The objective function {self.name!r} must return a {what} of shape "
                f"{expected}, got {values.shape}.{hint}"
            )
        with np.errstate(over="ignore"):
            out[:, self.order] = values.T
        if not np.isfinite(out).all():
            raise ValueError(
                f"The objective function {self.name!r} returned NaN, infinity or a "
                f"number beyond float32 in the {what}."
            )
