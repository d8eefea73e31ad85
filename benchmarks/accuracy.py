"""Are the models as good as LightGBM's with equal parameters?

Repeated 5-fold cross-validation; both libraries see the same folds, so the differences
are paired. Folds share training rows, hence the variance of the mean is corrected as in
Nadeau and Bengio (2003), "Inference for the generalization error", Machine Learning 52:
(1/k + test rows / training rows) times the variance of the k differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from adapters import EQUAL, make
from data import METRICS, SETS, SHARED, Problem, rows_of, scores
from measure import digits, parser, report, table

FOLDS = 5
# Test rows by training rows of a fold.
OVERLAP = 1 / (FOLDS - 1)
CLIMB = "largest climb of the training loss"
# Worse by at least this many standard errors is more than noise.
LIMIT = 2.0


def folds(problem: Problem, seeds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows: `seeds` times 5 folds, or a table and the next."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if problem.table is not None:
        for number in range(problem.table.max()):
            yield tuple(np.flatnonzero(problem.table == number + k) for k in (0, 1))
        return
    kind = KFold if problem.task == "regression" else StratifiedKFold
    for seed in range(seeds):
        splitter = kind(FOLDS, shuffle=True, random_state=seed)
        yield from splitter.split(problem.X, problem.y)


def fold_scores(
    library: str,
    problem: Problem,
    train: np.ndarray,
    test: np.ndarray,
    options: Mapping[str, Any],
) -> dict[str, float]:
    """Fit on one part, score on the other; see `largest_climb`."""
    weight = None if problem.weight is None else problem.weight[train]
    truth = problem.y if problem.truth is None else problem.truth
    model = make(library, problem.task, {**EQUAL, **options})
    X, y = rows_of(problem.X, train), problem.y[train]
    model.fit(
        X, y, sample_weight=weight, eval_set=[(X, y)], eval_sample_weight=[weight]
    )
    found = scores(model, problem.task, rows_of(problem.X, test), truth[test])
    return {**found, CLIMB: largest_climb(model.evals_result_)}


def largest_climb(history: Mapping[str, Mapping[str, Sequence[float]]]) -> float:
    """The largest increase of the training loss in a round, by its first value."""
    (losses,) = next(iter(history.values())).values()
    return max(0.0, float(np.diff(losses).max(initial=0.0)) / losses[0])


def standard_error(differences: np.ndarray, share: float) -> float:
    """Return the standard error of a mean of paired differences.

    Parameters
    ----------
    differences : ndarray
    share : float
        Test rows by training rows where folds overlap, else 0.
    """
    return math.sqrt((1 / len(differences) + share) * differences.var(ddof=1))


def judged(gain: np.ndarray, share: float = OVERLAP) -> tuple[list[str], float]:
    """Write the mean gain, its standard error and a verdict; the gain in errors."""
    error = standard_error(gain, share)
    in_errors = float(gain.mean() / error) if error > 0 else 0.0
    verdict = "yes" if in_errors < -LIMIT else "no"
    return [f"{gain.mean():+.2g}", f"{error:.2g}", verdict], in_errors


def compare(
    name: str,
    problem: Problem,
    libraries: tuple[str, str],
    seeds: int,
    options: Mapping[str, Any],
) -> Iterator[tuple[list[str], float]]:
    """Yield a row of the table and the gain in standard errors for every metric."""
    runs = [
        [fold_scores(library, problem, *fold, options) for library in libraries]
        for fold in folds(problem, seeds)
    ]
    climbs = [f"{max(run[i][CLIMB] for run in runs):.2g}" for i in range(2)]
    for metric, more_is_better, _ in METRICS[problem.task]:
        ours, theirs = np.array([[s[metric] for s in run] for run in runs]).T
        gain = (ours - theirs) * (1 if more_is_better else -1)
        cells, in_errors = judged(gain, OVERLAP if problem.table is None else 0.0)
        yield (
            [
                name,
                metric,
                f"{ours.mean():.5g} ± {ours.std(ddof=1):.2g}",
                f"{theirs.mean():.5g} ± {theirs.std(ddof=1):.2g}",
                *cells,
                *climbs,
            ],
            in_errors,
        )


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss", "lightgbm"))
    line.set_defaults(repeats=2)
    line.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    line.add_argument("--threads", type=int, default=2)
    line.add_argument("--learning-rate", type=float, default=EQUAL["learning_rate"])
    asked = line.parse_args()
    if len(asked.libraries) != 2:
        line.error("--libraries needs two: the one to judge and the one to judge it by")
    options = {"n_jobs": asked.threads, "learning_rate": asked.learning_rate}
    rows, gains, missing = [], [], []
    for name in asked.sets:
        try:
            problem = SETS[name]()
        except FileNotFoundError:
            missing.append(name)
            continue
        found = compare(name, problem, asked.libraries, asked.repeats, options)
        for row, gain in found:
            rows.append(row)
            gains.append(gain)
    ours, theirs = asked.libraries
    header = ["data", "metric", ours, theirs, "gain", "standard error"]
    average = (
        f"Mean gain in standard errors: {digits(np.mean(gains)) if gains else '-'}."
    )
    skipped = (
        f"Skipped, not found in {SHARED}: {', '.join(missing)}." if missing else ""
    )
    report(
        f"Accuracy, {FOLDS}-fold means ± spread, {asked.repeats} shuffles, learning"
        f" rate {asked.learning_rate:g}",
        asked.libraries,
        table(
            [*header, "worse beyond noise", f"climb, {ours}", f"climb, {theirs}"], rows
        ),
        f"{average} Climb: the most by which the training loss rose in a round of any"
        f" fit, as a share of its first value. {skipped}".strip(),
    )


if __name__ == "__main__":
    main()
