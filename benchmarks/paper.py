"""Do sampling and bundling gain what the LightGBM paper reports?

Ke et al. (2017), "LightGBM: A Highly Efficient Gradient Boosting Decision Tree",
NeurIPS: its Table 2 (seconds of one iteration), its Tables 3 and 4 (test metrics of
one-side sampling against uniform sampling) and its figures (metric against time).

An iteration's time is the median over `--rounds` rounds, after those that one-side
sampling leaves unsampled, told by callbacks: the time that a fit needs for memory
before its first round varies too much for a difference of two fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from adapters import EQUAL, LIBRARIES, goss, make, uniform
from data import SHAPES, Problem, scores
from measure import (
    Failed,
    alternate,
    attempt,
    digits,
    failures,
    parser,
    peak_extra,
    report,
    table,
)
from scipy.sparse import issparse

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "time_to_accuracy.svg"
TABLES = ("time", "accuracy")
PAPER = ["binary", "ranking", "flights categories", "flights one-hot", "one-hot"]
PAPER += ["wide"]
# One-side sampling begins after 1 / learning_rate rounds.
UNSAMPLED = int(1 / EQUAL["learning_rate"])
BUDGET = 3.0
# In how many steps the metric is followed.
STAGES = 7
# Fractions of rows with large gradients and of the others, as in the paper's Table 4.
RATES = [(0.05, 0.05), (0.1, 0.05), (0.1, 0.1), (0.2, 0.1), (0.25, 0.15)]


@dataclass(frozen=True)
class Variant:
    """One line of the paper's tables.

    Parameters
    ----------
    library : str
        A key of `LIBRARIES`.
    options : mapping
        What is special, by LightGBM's names.
    is_dense : bool
        Whether every column is stored as one of bytes, however sparse it is.
    beside_dense : bool
        Whether it is measured again where dense variants need fewer rows.
    """

    library: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_dense: bool = False
    beside_dense: bool = False


DENSE = {"enable_bundle": False, "is_enable_sparse": False}
BASELINE, BOTH = "baseline", "EFB + GOSS"
VARIANTS: Mapping[str, Variant] = {
    BASELINE: Variant("skgoss", DENSE, is_dense=True),
    "GOSS only": Variant("skgoss", {**DENSE, **goss()}, is_dense=True),
    "sparse, no EFB": Variant("skgoss", {"enable_bundle": False}),
    "EFB only": Variant("skgoss", beside_dense=True),
    BOTH: Variant("skgoss", goss(), beside_dense=True),
    "EFB + SGB": Variant("skgoss", uniform()),
    "LightGBM": Variant("lightgbm"),
    "LightGBM GOSS": Variant("lightgbm", goss()),
    "XGBoost": Variant("xgboost"),
}
IN_FIGURE = ["EFB only", BOTH, "EFB + SGB", "LightGBM", "LightGBM GOSS", "XGBoost"]


@dataclass(frozen=True)
class Run:
    """What one process measured.

    Attributes
    ----------
    fit : float
        Seconds of the best fit in `BUDGET` seconds of fits.
    iteration : float
        Of one of the rounds after the unsampled ones.
    memory : float
        Peak of the first fit above its input, MB.
    reached : dict from int to float
        Seconds of the best fit until each number of rounds.
    stages : dict from int to (dict from str to float)
        The held-out metrics then.
    """

    fit: float
    iteration: float
    memory: float
    reached: dict[int, float]
    stages: dict[int, dict[str, float]]

    @property
    def metrics(self) -> dict[str, float]:
        """The held-out metrics after all rounds."""
        return self.stages[max(self.stages)]


def once(name: str, shape: str, scale: float, threads: int, rounds: int) -> Run:
    """Measure one variant on one shape."""
    variant, problem = VARIANTS[name], SHAPES[shape](scale)
    X, y = problem.train
    total = UNSAMPLED + rounds
    asked = {**EQUAL, **variant.options, "n_jobs": threads, "n_estimators": total}

    def model() -> Any:
        return make(variant.library, problem.task, asked)

    # The first fit of a process pays for imports and for starting threads.
    model().fit(X[:500], y[:500])
    fitted = model()
    fits: list[list[float]] = []
    _, memory = peak_extra(lambda: fits.append(watch(variant.library, fitted, X, y)))
    while sum(ends[-1] for ends in fits) < BUDGET:
        fits.append(watch(variant.library, model(), X, y))
    iteration = min(median(np.diff(ends[UNSAMPLED - 1 : total])) for ends in fits)
    quickest = min(fits, key=lambda ends: ends[-1])
    stages = np.unique(np.linspace(UNSAMPLED, total, STAGES).astype(int)).tolist()
    reached = {n: quickest[n - 1] for n in stages}
    found = staged(variant.library, fitted, problem, stages)
    return Run(quickest[-1], iteration, memory, reached, found)


def watch(library: str, model: Any, X: Any, y: Any) -> list[float]:
    """Fit; the seconds after which each round ended, and at last the fit."""
    ends: list[float] = []
    start = perf_counter()

    def now() -> None:
        ends.append(perf_counter() - start)

    model.fit(X, y, **LIBRARIES[library].watched(model, now))
    now()
    return ends


def staged(
    library: str, fitted: Any, problem: Problem, stages: Sequence[int]
) -> dict[int, dict[str, float]]:
    """Score a model after numbers of rounds."""
    X, y = problem.test
    first_rounds = LIBRARIES[library].first_rounds
    return {n: scores(fitted, problem.task, X, y, **first_rounds(n)) for n in stages}


def best(runs: Sequence[Run]) -> Run:
    """Join a variant's runs."""
    quickest = min(runs, key=lambda run: run.fit)
    iteration = min(run.iteration for run in runs)
    memory = max(run.memory for run in runs)
    return replace(quickest, iteration=iteration, memory=memory)


def dense_part(shape: str, scale: float, gigabytes: float) -> float:
    """Return the fraction of rows whose values take `gigabytes`, each a byte."""
    X = SHAPES[shape](scale).train[0]
    part = 1.0
    while n_values(X[: int(part * X.shape[0])]) > gigabytes * 1e9:
        part /= 2
    return part


def n_values(X: Any) -> int:
    """Count the values of a dense X without columns of zeros only."""
    n_rows, n_columns = X.shape
    return n_rows * (len(np.unique(X.indices)) if issparse(X) else n_columns)


def measure(
    names: list[str], shape: str, asked: Any, *, scale: float
) -> tuple[dict[str, Run], list[str]]:
    """Run variants by turns; results, and why some have none."""
    options = (shape, scale, asked.threads, asked.rounds)
    jobs: dict[Any, Callable[[], Run | Failed]] = {
        name: partial(attempt, once, name, *options, threads=asked.threads)
        for name in names
    }
    runs = alternate(jobs, asked.repeats)
    failed = failures(runs)
    results = {name: best(runs[name]) for name in names if name not in failed}
    return results, [f"{name}, {shape}: {reason}" for name, reason in failed.items()]


def ratio(results: Mapping[str, Run], by: str, name: str, what: str) -> str:
    """Write how many times the cost of `by` is that of `name`."""
    if by not in results:
        return ""
    return digits(getattr(results[by], what) / getattr(results[name], what))


def lines(
    shape: str, part: float, names: list[str], results: Mapping[str, Run]
) -> Iterator[list[str]]:
    """Yield rows of the table for variants that saw the same rows."""
    label = shape if part == 1 else f"{shape}, {digits(100 * part)} % of the rows"
    for name in names:
        if name not in results:
            yield [label, name, *["-"] * 8]
            continue
        its = results[name]
        yield [
            label,
            name,
            digits(1000 * its.iteration),
            ratio(results, BASELINE, name, "iteration"),
            ratio(results, "LightGBM", name, "iteration"),
            ratio(results, "XGBoost", name, "iteration"),
            digits(its.fit),
            ratio(results, "LightGBM", name, "fit"),
            digits(its.memory),
            ", ".join(f"{metric} {value:.5f}" for metric, value in its.metrics.items()),
        ]


def time_table(asked: Any) -> None:
    """Print the paper's Table 2 and draw its figures."""
    known = [n for n in VARIANTS if VARIANTS[n].library in asked.libraries]
    rows, reasons, drawn = [], [], {}
    for shape in asked.shapes:
        part = dense_part(shape, asked.scale, asked.dense_gigabytes)
        groups = {1.0: known}
        if part < 1:
            groups[1.0] = [n for n in known if not VARIANTS[n].is_dense]
            beside = [n for n in known if VARIANTS[n].beside_dense]
            dense = [n for n in known if VARIANTS[n].is_dense]
            groups[part] = dense + beside if dense else []
        for share, names in groups.items():
            results, failed = measure(names, shape, asked, scale=asked.scale * share)
            rows += lines(shape, share, names, results)
            reasons += failed
            if share == 1:
                drawn[shape] = results
    header = ["shape", "variant", "ms an iteration", "baseline / it", "lightgbm / it"]
    header += ["xgboost / it", f"fit of {UNSAMPLED + asked.rounds} rounds, s"]
    header += ["lightgbm / it", "extra MB", "held-out"]
    title = f"Seconds of an iteration, scale {asked.scale:g}, {asked.threads} threads"
    report(title, asked.libraries, table(header, rows), *dict.fromkeys(reasons))
    if asked.figure:
        draw(drawn, Path(asked.figure))


def draw(drawn: Mapping[str, Mapping[str, Run]], path: Path) -> None:
    """Plot the first metric of each shape against the time of the fit."""
    import matplotlib

    matplotlib.use("svg")
    # The same measurements make the same file.
    matplotlib.rcParams["svg.hashsalt"] = "skgoss"
    from matplotlib import pyplot

    n_rows = -(-len(drawn) // 2)
    figure, axes = pyplot.subplots(
        n_rows, 2, figsize=(10, 3.2 * n_rows), layout="constrained", squeeze=False
    )
    for panel in axes.flat[len(drawn) :]:
        panel.set_axis_off()
    for panel, (shape, results) in zip(axes.flat, drawn.items(), strict=False):
        draw_panel(panel, shape, results)
    lines = {
        line.get_label(): line for panel in axes.flat for line in panel.get_lines()
    }
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=len(lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def draw_panel(panel: Any, shape: str, results: Mapping[str, Run]) -> None:
    """Draw a line for each variant of one shape."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.set(title=shape, xlabel="seconds of the fit", xscale="log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(NullLocator())
    for number, name in enumerate(IN_FIGURE):
        if name not in results:
            continue
        its = results[name]
        metric = next(iter(its.metrics))
        panel.set_ylabel(metric)
        panel.plot(
            list(its.reached.values()),
            [found[metric] for found in its.stages.values()],
            color=f"C{number}",
            linestyle="-" if VARIANTS[name].library == "skgoss" else "--",
            marker=".",
            label=name,
        )


def samplings(rates: Sequence[tuple[float, float]]) -> Iterator[tuple[str, str, dict]]:
    """Yield the fraction of rows, the method and its options."""
    yield "1", "all rows", {}
    for top, other in rates:
        share = f"{top + other:.2g} ({top:g} + {other:g})"
        yield share, "GOSS", goss(top, other)
        yield share, "SGB", uniform(round(top + other, 6))


def sampled(
    library: str, shape: str, scale: float, threads: int, rounds: int, seeds: int
) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Score every sampling with every seed; no seed changes a fit of all rows."""
    problem = SHAPES[shape](scale)
    parameters = {**EQUAL, "n_estimators": rounds, "n_jobs": threads}
    found = {}
    for share, method, options in samplings(RATES):
        found[share, method] = []
        for seed in range(seeds if options else 1):
            said = {**parameters, **options, "random_state": seed}
            model = make(library, problem.task, said).fit(*problem.train)
            found[share, method].append(scores(model, problem.task, *problem.test))
    return found


def spread(values: Sequence[float]) -> str:
    """Write the mean and, of more than one value, the standard deviation."""
    mean = f"{np.mean(values):.5f}"
    return f"{mean} ± {np.std(values, ddof=1):.1g}" if len(values) > 1 else mean


def accuracy_lines(
    shape: str,
    columns: Sequence[tuple[str, str]],
    found: Mapping[str, dict[tuple[str, str], list[dict[str, float]]]],
) -> Iterator[list[str]]:
    """Yield rows of the table; a library that failed is not in `found`."""
    shares = list(dict.fromkeys(share for share, _, _ in samplings(RATES)))
    metrics = next((runs["1", "all rows"][0] for runs in found.values()), {})
    for metric in metrics:
        for share in shares:
            cells = []
            for library, method in columns:
                runs = found.get(library, {})
                its = runs.get((share, method)) or runs.get((share, "all rows"))
                cells.append(spread([run[metric] for run in its]) if its else "-")
            yield [shape, metric, share, *cells]


def accuracy_table(asked: Any) -> None:
    """Print the paper's Tables 3 and 4."""
    # XGBoost samples by gradients on graphics processors only.
    libraries = [name for name in asked.libraries if name != "xgboost"]
    columns = [(name, method) for name in libraries for method in ("GOSS", "SGB")]
    scale, threads = asked.scale * asked.accuracy_scale, asked.threads
    rows, reasons = [], []
    for shape in asked.accuracy_shapes:
        options = (shape, scale, threads, asked.accuracy_rounds, asked.seeds)
        runs = {
            name: [attempt(sampled, name, *options, threads=threads)]
            for name in libraries
        }
        failed = failures(runs)
        reasons += [f"{name}, {shape}: {reason}" for name, reason in failed.items()]
        found = {name: runs[name][0] for name in libraries if name not in failed}
        rows += accuracy_lines(shape, columns, found)
    header = ["shape", "metric", "fraction of the rows"]
    header += [f"{name}, {method}" for name, method in columns]
    title = f"GOSS against SGB, {asked.accuracy_rounds} rounds, {asked.seeds} seeds"
    title += f", scale {scale:g}"
    report(title, libraries, table(header, rows), *dict.fromkeys(reasons))


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss", "lightgbm", "xgboost"))
    line.set_defaults(repeats=1)
    add = line.add_argument
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    add("--shapes", nargs="+", choices=list(SHAPES), default=PAPER)
    add("--scale", type=float, default=1.0, help="part of the rows")
    add("--rounds", type=int, default=30, help=f"timed, after {UNSAMPLED} others")
    add("--threads", type=int, default=2)
    add("--dense-gigabytes", type=float, default=0.3, help="a byte a value of X")
    add("--figure", default=str(FIGURE), help="file to draw into; empty: none")
    add(
        "--accuracy-shapes",
        nargs="+",
        choices=list(SHAPES),
        default=["binary", "ranking", "flights categories", "one-hot"],
    )
    add("--accuracy-scale", type=float, default=0.2, help="times --scale")
    add("--accuracy-rounds", type=int, default=100)
    add("--seeds", type=int, default=3)
    asked = line.parse_args()
    for name in asked.tables:
        {"time": time_table, "accuracy": accuracy_table}[name](asked)


if __name__ == "__main__":
    main()
