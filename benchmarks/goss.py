"""Which rows should one-side sampling keep: those of large |g|, or of large |g * h|?

The paper ranks rows by their gradients, LightGBM by gradients times hessians. Both see
the same splits here and draw as many rows with the same seeds; uniform sampling draws
as many beside them. Learning rates and rounds are 0.1 and 100, and 0.05 and 200.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from accuracy import OVERLAP, standard_error
from adapters import EQUAL, goss, make, uniform
from data import METRICS, SETS, SHAPES, Problem, rows_of, scores
from measure import parser, report, table

from skgoss._engine.training.sampling_kernels import one_side_sample
from skgoss.training import sampling
from skgoss.training.sampling import OneSideSampling

RATES = [(0.2, 0.1), (0.1, 0.1)]
STEPS = [(0.1, 100), (0.05, 200)]
BY_GRADIENT, BY_BOTH, ALIKE = "by g", "by g h", "uniform"


class ByBoth(OneSideSampling):
    """The sampler with LightGBM's rule: the sum over the scores of |g h|."""

    def draw(
        self,
        round_index: int,
        gradient: np.ndarray,
        hessian: np.ndarray | None,
        n_threads: int,
    ) -> sampling.Sample:
        """Draw rows by another score than the gradient."""
        sees_all = not self.leaves_out or round_index + 1 <= self.warm_up
        if sees_all or hessian is None:
            return super().draw(round_index, gradient, hessian, n_threads)
        weight = 1.0 if self.weight is None else self.weight
        score = np.abs(gradient * hessian * weight**2).sum(axis=0, keepdims=True)
        score = score.astype(np.float32)
        counts = np.ones_like(score)
        sizes = (self.n_top, self.n_other, self.seed, round_index, n_threads)
        rows = one_side_sample(score, counts, None, *sizes, True)
        gradient *= counts
        hessian *= counts
        return sampling.Sample(rows, hessian)


def noisy(problem: Problem, share: float = 0.1) -> Problem:
    """Flip a fraction of the labels: rows whose gradients stay large."""
    turned = np.random.default_rng(3).random(len(problem.y)) < share
    return replace(problem, y=np.where(turned, 1 - problem.y, problem.y))


DATA: Mapping[str, Callable[[], Problem]] = {
    **{name: SETS[name] for name in ("breast_cancer", "digits", "binary")},
    **{name: SETS[name] for name in ("multiclass", "adult")},
    "flights, 98k rows": partial(SHAPES["flights"], 0.3),
    "generated, two classes, 120k rows": partial(SHAPES["binary"], 0.1),
    "the same, 10% of labels wrong": lambda: noisy(SHAPES["binary"](0.1)),
    "generated, seven classes, 36k rows": partial(SHAPES["multiclass"], 0.2),
    "six decades of weights": SETS["six decades of weights, binary"],
}


def methods(top: float, other: float) -> dict[str, tuple[type, dict[str, Any]]]:
    """Return the sampler that stands behind 'goss', and the options, by method."""
    return {
        BY_GRADIENT: (OneSideSampling, goss(top, other)),
        BY_BOTH: (ByBoth, goss(top, other)),
        ALIKE: (OneSideSampling, uniform(round(top + other, 6))),
    }


def fit(
    problem: Problem,
    seed: int,
    parameters: Mapping[str, Any],
    sampler: type = OneSideSampling,
) -> tuple[Any, np.ndarray]:
    """Fit four fifths of the rows, return the others; the seed shuffles and draws."""
    rows = np.random.default_rng(seed).permutation(len(problem.y))
    train, test = np.split(rows, [len(rows) * 4 // 5])
    weight = None if problem.weight is None else problem.weight[train]
    model = make("skgoss", problem.task, {**EQUAL, **parameters, "random_state": seed})
    with patch.object(sampling, "OneSideSampling", sampler):
        model.fit(rows_of(problem.X, train), problem.y[train], sample_weight=weight)
    return model, test


def score(problem: Problem, *options: Any) -> dict[str, float]:
    """Score a fit on the rows that it has not seen; options are those of `fit`."""
    model, test = fit(problem, *options)
    return scores(model, problem.task, rows_of(problem.X, test), problem.y[test])


def compare(
    name: str, problem: Problem, rate: float, rounds: int, seeds: int, threads: int
) -> Iterator[tuple[str, list[Any], float]]:
    """Yield metric, row of the table and by how many standard errors |g| is better."""
    equal = {"learning_rate": rate, "n_estimators": rounds, "n_jobs": threads}
    turns = range(seeds)
    full = [score(problem, seed, equal) for seed in turns]
    for top, other in RATES:
        runs = {
            method: [score(problem, s, equal | options, sampler) for s in turns]
            for method, (sampler, options) in methods(top, other).items()
        }
        for metric, more_is_better, _ in METRICS[problem.task]:
            whole = np.array([run[metric] for run in full])
            sign = 100 if more_is_better else -100
            gain = {
                method: sign * (np.array([run[metric] for run in its]) / whole - 1)
                for method, its in runs.items()
            }
            gap = gain[BY_GRADIENT] - gain[BY_BOTH]
            error = standard_error(gap, OVERLAP)
            cells = [f"{its.mean():+.2f}" for its in gain.values()]
            cells.append(f"{gap.mean():+.2f} ± {error:.2f}")
            row = [name, rate, f"{top} + {other}", f"{whole.mean():.5g}", *cells]
            yield metric, row, float(gap.mean() / error) if error > 0 else 0.0


def deviation(y: np.ndarray, p: np.ndarray) -> float:
    """Mean absolute error."""
    return float(np.abs(y - p).mean())


def pinball(y: np.ndarray, p: np.ndarray, level: float = 0.7) -> float:
    """Loss of a quantile."""
    return float(np.maximum(level * (y - p), (level - 1) * (y - p)).mean())


def root_mean_square(y: np.ndarray, p: np.ndarray) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((y - p) ** 2)))


# What is fitted, and what it is judged by. The unit of huber's alpha is that of y.
LOSSES: Mapping[str, tuple[dict[str, Any], Callable[..., float]]] = {
    "regression": ({}, root_mean_square),
    "huber": ({"alpha": 0.9}, deviation),
    "regression_l1": ({}, deviation),
    "quantile": ({"alpha": 0.7}, pinball),
}
TARGETS = ["california_housing", "diamonds", "heavy tails"]


def by_loss(name: str, seeds: int, threads: int) -> Iterator[list[Any]]:
    """Yield rows of a table: what sampling costs by the loss that is fitted."""
    problem = SETS[name]()
    truth = problem.y if problem.truth is None else problem.truth
    spread = np.median(np.abs(problem.y - np.median(problem.y)))
    problem, truth = replace(problem, y=problem.y / spread), truth / spread
    for objective, (options, loss) in LOSSES.items():
        found = {}
        for method, drawn in {"all": {}, "goss": goss(), ALIKE: uniform()}.items():
            said = {"objective": objective, "n_jobs": threads, **options, **drawn}
            fits = [fit(problem, seed, said) for seed in range(seeds)]
            found[method] = np.array(
                [loss(truth[test], m.predict(problem.X[test])) for m, test in fits]
            )
        row = [name, objective, f"{found['all'].mean():.4g}"]
        for method in ("goss", ALIKE):
            gain = 100 - 100 * found[method] / found["all"]
            row.append(f"{gain.mean():+.2f} ± {standard_error(gain, OVERLAP):.2f}")
        yield row


def losses_table(seeds: int, threads: int) -> list[str]:
    """Print what sampling costs by the loss; return the sets that are not there."""
    rows, missing = [], []
    for name in TARGETS:
        try:
            rows += by_loss(name, seeds, threads)
        except FileNotFoundError:
            missing.append(name)
    header = ["data", "objective", "loss of all rows", "goss, %", f"{ALIKE}, %"]
    report(
        f"Gain over all rows by objective, {seeds} seeds",
        ("skgoss",),
        table(header, rows),
    )
    return missing


def rules_tables(names: list[str], seeds: int, threads: int) -> list[str]:
    """Print gains of both rules, by metric; return the sets that are not there."""
    rows: dict[str, list[list[Any]]] = {}
    gaps: dict[str, list[float]] = {}
    missing = []
    for name in names:
        try:
            problem = DATA[name]()
        except FileNotFoundError:
            missing.append(name)
            continue
        for step in STEPS:
            for metric, row, gap in compare(name, problem, *step, seeds, threads):
                rows.setdefault(metric, []).append(row)
                gaps.setdefault(metric, []).append(gap)
    header = ["data", "learning rate", "rates", "all rows"]
    header += [f"{BY_GRADIENT}, %", f"{BY_BOTH}, %", f"{ALIKE}, %", "g - g h"]
    for metric, its in rows.items():
        report(
            f"{metric}: gain over all rows, {seeds} seeds",
            ("skgoss",),
            table(header, its),
            f"By g - by g h, mean: {np.mean(gaps[metric]):+.2f} standard errors.",
        )
    return missing


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss",))
    line.set_defaults(repeats=5)
    line.add_argument("--sets", nargs="*", choices=list(DATA), default=list(DATA))
    line.add_argument("--threads", type=int, default=2)
    asked = line.parse_args()
    missing = rules_tables(asked.sets, asked.repeats, asked.threads)
    missing += losses_table(asked.repeats, asked.threads)
    if missing:
        print(f"Skipped, not found: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
