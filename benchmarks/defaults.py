"""How accurate are gradient boosting libraries at their defaults, and after what time?

Small real tables, cross-validation with 3 folds. Every variant sees the same folds. The
loss (log loss, or RMSE for numbers) of a fold is divided by that of skgoss at its
defaults, and tables are compared by the geometric mean of their folds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from adapters import ALL, BY_LEVELS, Library, make
from data import Problem, rows_of, scores, small_table, small_tables
from measure import Failed, attempt, digits, parser, report, table
from scipy.stats import binomtest

FOLDS = 3
# Rows of the fit that is not timed: it imports, starts threads and compiles.
WARM = 100
LOSS = {"regression": "RMSE"}


@dataclass(frozen=True)
class Variant:
    """A library with few options or none."""

    library: str
    options: Mapping[str, Any] = field(default_factory=dict)


OURS = "skgoss"
RIVAL = "catboost"
VARIANTS: Mapping[str, Variant] = {
    OURS: Variant("skgoss"),
    "fast": Variant("skgoss", {"preset": "fast"}),
    "accurate": Variant("skgoss", {"preset": "accurate"}),
    "accurate, 8 folds": Variant("skgoss", {"preset": "accurate", "folds": 8}),
    **{name: Variant(name) for name in ALL if name not in {OURS, *BY_LEVELS}},
}


class Run(dict[str, tuple[float, float]]):
    """Loss and seconds of each fit of a variant on a table, by repeat and fold."""

    def losses(self) -> np.ndarray:
        return np.array([self[key][0] for key in sorted(self)])

    def seconds(self) -> float:
        return float(np.mean([seconds for _, seconds in self.values()]))


# --- Fits -----------------------------------------------------------------------------


def pairs(problem: Problem, repeat: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of the folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if problem.task == "regression" else StratifiedKFold
    splitter = kind(FOLDS, shuffle=True, random_state=repeat)
    return list(splitter.split(problem.X, problem.y))


def prepared(its: Library, X: Any) -> tuple[Any, dict[str, Any]]:
    """The columns as the library reads them, and the arguments of fit."""
    words = list(X.select_dtypes("category")) if hasattr(X, "select_dtypes") else []
    if not words:
        return X, {}
    readable = X if its.readable is None else its.readable(X)
    places = [X.columns.get_loc(name) for name in words]
    return readable, {its.categorical: places} if its.categorical else {}


def run(name: str, variant: str, repeat: int, threads: int) -> dict[str, Any]:
    """Fit and score the folds of one table; seconds are those of the processor."""
    asked, problem = VARIANTS[variant], small_table(name)
    its = ALL[asked.library]
    X, of_fit = prepared(its, problem.X)
    options = {**asked.options, **({its.threads: threads} if its.threads else {})}

    def fitted(rows: np.ndarray) -> Any:
        model = make(asked.library, problem.task, options)
        return model.fit(rows_of(X, rows), problem.y[rows], **of_fit)

    found = {}
    folds = pairs(problem, repeat)
    fitted(folds[0][0][:: max(1, len(folds[0][0]) // WARM)])
    for number, (train, test) in enumerate(folds):
        start = time.process_time()
        model = fitted(train)
        seconds = time.process_time() - start
        by_metric = scores(model, problem.task, rows_of(X, test), problem.y[test])
        loss = by_metric[LOSS.get(problem.task, "log loss")]
        found[f"{repeat}/{number}"] = (loss, seconds)
    return found


# --- Results that are kept in a file --------------------------------------------------


class Results:
    """What was measured, in a file of one line for each table, variant and repeat."""

    def __init__(self, path: Path | None, threads: int) -> None:
        self.path, self.threads = path, threads
        self._lines: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._lines |= json.loads(line)

    def get(self, name: str, variant: str, repeat: int) -> dict[str, Any] | Failed:
        """What `run` returns: from the file, or else measured now."""
        key = f"{name}/{variant}/{repeat}/{self.threads}/{installed(variant)}"
        if key not in self._lines:
            found = attempt(
                run, name, variant, repeat, self.threads, threads=self.threads
            )
            if isinstance(found, Failed):
                return found
            self._lines[key] = found
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps({key: found}) + "\n")
        return self._lines[key]


def installed(variant: str) -> str:
    """The version of a variant's library; empty if it is not installed."""
    try:
        return version(ALL[VARIANTS[variant].library].package)
    except PackageNotFoundError:
        return ""


def measured(
    results: Results, names: Sequence[str], variants: Sequence[str], repeats: int
) -> Iterator[tuple[str, str, Run | Failed]]:
    """Yield the runs of each table and variant."""
    for name in names:
        for variant in variants:
            parts = [results.get(name, variant, repeat) for repeat in range(repeats)]
            failed = [part for part in parts if isinstance(part, Failed)]
            whole = (
                Run({key: value for part in parts for key, value in part.items()})
                if not failed
                else failed[0]
            )
            yield name, variant, whole


# --- Comparison -----------------------------------------------------------------------


def mean(ratios: np.ndarray) -> float:
    """Geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def compared(
    runs: Mapping[str, Run], other: Mapping[str, Run]
) -> dict[str, np.ndarray]:
    """Losses of a variant by those of another one, by table."""
    return {
        name: runs[name].losses() / other[name].losses()
        for name in runs
        if name in other
    }


def verdict(ratios: Mapping[str, np.ndarray]) -> list[str]:
    """Mean and median ratio, wins, the sign test over folds, and the worst table."""
    means = {name: mean(values) for name, values in ratios.items()}
    if not means:
        return ["-"] * 5
    values, folds = np.array(list(means.values())), np.concatenate([*ratios.values()])
    wins, losses = int((folds < 1).sum()), int((folds > 1).sum())
    chance = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    worst = max(means, key=lambda name: means[name])
    return [
        digits(mean(values)),
        digits(float(np.median(values))),
        f"{(values < 1).sum()} / {(values > 1).sum()}",
        f"{chance:.1g}",
        f"{worst} {digits(means[worst])}",
    ]


def summary(
    runs: Mapping[str, Mapping[str, Run]], names: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of variants."""
    for variant, by_name in runs.items():
        against = [compared(by_name, runs.get(name, {})) for name in (OURS, RIVAL)]
        base = runs[OURS]
        times = np.array([r.seconds() / base[n].seconds() for n, r in by_name.items()])
        yield [
            variant,
            f"{len(by_name)} of {len(names)}",
            *verdict(against[0]),
            verdict(against[1])[0],
            verdict(against[1])[2],
            digits(sum(r.seconds() for r in by_name.values())),
            digits(mean(times)) if len(times) else "-",
        ]


def by_table(
    runs: Mapping[str, Mapping[str, Run]], names: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of tables: the loss of our defaults, then ratios to it."""
    others = [variant for variant in runs if variant != OURS]
    ratios = {variant: compared(runs[variant], runs[OURS]) for variant in others}
    for name in names:
        if name in runs[OURS]:
            cells = [
                digits(mean(ratios[variant][name])) if name in ratios[variant] else "-"
                for variant in others
            ]
            yield [name, digits(float(runs[OURS][name].losses().mean())), *cells]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], list(ALL), list(ALL))
    names = small_tables()
    line.add_argument(
        "--tables",
        type=lambda text: text.split(","),
        default=names,
        help="names, separated by commas",
    )
    line.add_argument("--threads", type=int, default=1)
    line.add_argument(
        "--results", type=Path, help="a file that keeps the results of earlier runs"
    )
    asked = line.parse_args()
    unknown = set(asked.tables).difference(names)
    if unknown:
        line.error(f"no such table: {', '.join(sorted(unknown))}; there are {names}")
    wanted = {OURS, *asked.libraries}
    variants = [
        variant
        for variant in VARIANTS
        if VARIANTS[variant].library in wanted and installed(variant)
    ]
    results = Results(asked.results, asked.threads)
    runs: dict[str, dict[str, Run]] = {variant: {} for variant in variants}
    for name, variant, found in measured(
        results, asked.tables, variants, asked.repeats
    ):
        if isinstance(found, Failed):
            print(f"{name}, {variant}: {found.reason}", flush=True)
        else:
            runs[variant][name] = found
    against = "loss / skgoss's"
    header = ["variant", "tables", against, "median", "better / worse"]
    header += ["p of a sign test over folds", "worst table", "loss / CatBoost's"]
    header += ["better / worse than CatBoost", "seconds", "time / skgoss's"]
    report(
        f"Defaults, {FOLDS} folds, {asked.repeats} repeats, {asked.threads} threads",
        dict.fromkeys(VARIANTS[variant].library for variant in variants),
        table(header, summary(runs, asked.tables)),
        table(
            ["table", "loss of skgoss", *[v for v in runs if v != OURS]],
            by_table(runs, asked.tables),
        ),
    )


if __name__ == "__main__":
    main()
