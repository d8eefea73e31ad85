"""What does a small model gain from the probabilities of a large one?

The teacher is fitted with ``preset="accurate"`` on the labeled rows, a part of the
training rows. The students are one small model each, with two numbers of rounds:
fitted on the labels, on these and the classes that the teacher predicts for the other
rows (pseudo-labels), on the teacher's probabilities for the labeled rows, and on those
for all training rows.
The loss is the log loss of a quarter of the rows. Times are those of the processor, for
predictions of all these rows on one thread, the least of five.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from data import rows_of, small_table
from measure import digits, parser, report, table
from sklearn.base import clone
from sklearn.metrics import log_loss
from variants import Runs, by_variant, on_tables

MOST_ROWS = 6000
STUDENT = {"num_leaves": 8, "learning_rate": 0.15, "n_jobs": 1}
TABLES = ("digits", "multiclass", "hpc", "poverty_views", "cells", "stackoverflow")
STUDENTS = ("labels", "pseudo-labels", "soft labels, labeled rows", "soft labels")
ROUNDS = 60, 200
VARIANTS = ("teacher", *(f"{name}, {n} rounds" for n in ROUNDS for name in STUDENTS))


@cache
def models(name: str, seed: int, share: float) -> tuple[Any, ...]:
    """The test rows, their labels, and the models by variant."""
    from skgoss import LGBMClassifier

    problem, random = small_table(name), np.random.default_rng(seed)
    order = random.permutation(len(problem.y))[:MOST_ROWS]
    tested, rows = np.split(order, [len(order) // 4])
    n_labeled = int(share * len(rows))
    X, y = rows_of(problem.X, rows), problem.y[rows[:n_labeled]]
    labeled = rows_of(problem.X, rows[:n_labeled])
    teacher = LGBMClassifier(preset="accurate", n_jobs=1).fit(labeled, y)
    soft = teacher.predict_proba(X)
    pseudo = np.r_[y, teacher.classes_[soft[n_labeled:].argmax(axis=1)]]
    fitted = [teacher]
    for n_rounds in ROUNDS:
        by_labels = LGBMClassifier(n_estimators=n_rounds, **STUDENT)
        by_soft = clone(by_labels).set_params(objective="cross_entropy")
        fitted += [
            clone(by_labels).fit(labeled, y),
            clone(by_labels).fit(X, pseudo),
            clone(by_soft).fit(labeled, soft[:n_labeled]),
            clone(by_soft).fit(X, soft),
        ]
    X_test, y_test = rows_of(problem.X, tested), problem.y[tested]
    return X_test, y_test, dict(zip(VARIANTS, fitted, strict=True))


def measured(
    name: str, variant: str, seed: int, share: float
) -> tuple[float, float, float]:
    """The log loss, the microseconds of a row, and the kilobytes of the pickle."""
    X, y, fitted = models(name, seed, share)
    model = fitted[variant]
    loss = log_loss(y, model.predict_proba(X), labels=model.classes_)
    times = []
    for _ in range(5):
        begin = time.process_time()
        model.predict_proba(X)
        times.append(time.process_time() - begin)
    return loss, 1e6 * min(times) / len(X), len(pickle.dumps(model)) / 1e3


def lines(runs: Runs) -> Iterator[list[str]]:
    """A line for each variant: losses by table, mean time and size."""
    for variant, own in by_variant(runs, VARIANTS):
        means = {name: found.mean(axis=0) for name, found in own.items()}
        losses = [f"{means[name][0]:.3f}" if name in means else "" for name in runs]
        _, micros, size = np.mean(list(means.values()), axis=0)
        yield [variant, *losses, digits(micros), f"{size:,.0f}"]


def main() -> None:
    arguments = parser(__doc__ or "", ("skgoss",), ("skgoss",))
    arguments.add_argument("--tables", nargs="+", default=TABLES)
    arguments.add_argument("--share", type=float, default=0.3, help="of labeled rows")
    options = arguments.parse_args()
    runs = on_tables(measured, options.tables, VARIANTS, options.repeats, options.share)
    header = ["student", *options.tables, "µs a row", "kB"]
    report("Distilling", options.libraries, table(header, lines(runs)))


if __name__ == "__main__":
    main()
