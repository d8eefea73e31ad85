"""How good is the model after how many seconds? Real data, four libraries.

Every point is a whole fit of a number of trees, timed in a process of its own, and the
metric of the model on held-out rows. The libraries take turns; the quickest turn
counts. Lines that are lower and further to the left are better.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from adapters import EQUAL, LIBRARIES, make
from data import SETS, SHAPES, Problem, scores, split
from measure import alternate, attempt, digits, failures, parser, report, seconds, table

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "accuracy.svg"
TREES = (40, 80, 160, 320)
# Title, metric, and the way to the rows.
PANELS: Mapping[str, tuple[str, Any]] = {
    "Delays of flights: 262k rows": ("log loss", partial(SHAPES["flights"], 1.0)),
    "Prices of diamonds: 43k rows": ("RMSE", SETS["diamonds, categories"]),
}
LABELS = {
    "skgoss": "skgoss",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "hgb": "HistGradientBoosting",
}


def rows(panel: str) -> Problem:
    """Load the data of a panel, with a fifth of the rows held out."""
    problem = PANELS[panel][1]()
    return problem if problem.n_train else split(problem)


def points(library: str, panel: str, threads: int) -> dict[int, tuple[float, float]]:
    """Seconds of a fit and the held-out metric, for each number of trees."""
    problem = rows(panel)
    X, y = problem.train

    def model(n_trees: int) -> Any:
        options = {**EQUAL, "n_estimators": n_trees, "n_jobs": threads}
        return make(library, problem.task, options)

    # The first fit of a process pays for imports and for starting threads.
    model(1).fit(X, y)
    found = {}
    for n_trees in TREES:
        fitted = model(n_trees)
        time = seconds(partial(fitted.fit, X, y))
        metric = scores(fitted, problem.task, *problem.test)[PANELS[panel][0]]
        found[n_trees] = (time, metric)
    return found


def quickest(runs: list[dict[int, tuple[float, float]]]) -> list[tuple[float, float]]:
    """Join a library's turns: the shortest time of each number of trees."""
    return [min(run[n_trees] for run in runs) for n_trees in TREES]


def draw(
    found: Mapping[tuple[str, str], list[tuple[float, float]]], path: Path
) -> None:
    """Draw a panel for each data set and a line for each library."""
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text, which keeps the file small; equal numbers make equal files.
    style = {"svg.fonttype": "none", "svg.hashsalt": "skgoss", "font.size": 10}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.4, 3.4), layout="constrained")
        for ax, (panel, (metric, _)) in zip(
            figure.subplots(1, 2), PANELS.items(), strict=True
        ):
            draw_panel(ax, {lib: found.get((lib, panel)) for lib in LABELS})
            ax.set_title(panel, fontsize=11)
            ax.set_ylabel(f"{metric} on held-out rows")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def draw_panel(ax: Any, lines: Mapping[str, list[tuple[float, float]] | None]) -> None:
    """Draw the lines of one data set."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(xscale="log", xlabel="seconds of the fit")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    for number, (library, line) in enumerate(lines.items()):
        if line is not None:
            is_ours = library == "skgoss"
            ax.plot(
                *zip(*line, strict=True),
                marker="o",
                markersize=5 if is_ours else 4,
                linewidth=2.5 if is_ours else 1.3,
                color=["#d9661f", "#1f6fb4", "#4d9a4d", "#8a6fb0"][number],
                label=LABELS[library],
                zorder=3 if is_ours else 2,
            )


def main() -> None:
    """Read the command line, measure, print, draw."""
    line = parser(__doc__.splitlines()[0])
    line.add_argument("--threads", type=int, default=1)
    line.add_argument("--figure", type=Path, default=FIGURE, help="file to draw into")
    asked = line.parse_args()
    jobs: dict[Any, Any] = {
        (library, panel): partial(
            attempt, points, library, panel, asked.threads, threads=asked.threads
        )
        for panel in PANELS
        for library in asked.libraries
    }
    runs = alternate(jobs, asked.repeats)
    failed = failures(runs)
    found = {key: quickest(runs[key]) for key in jobs if key not in failed}
    cells = [
        [panel, LABELS[library]]
        + [f"{digits(time)} s, {metric:.5g}" for time, metric in line]
        for (library, panel), line in found.items()
    ]
    report(
        f"Seconds of a fit and held-out metric, threads: {asked.threads}",
        [name for name in asked.libraries if name in LIBRARIES],
        table(["data", "library", *(f"{n} trees" for n in TREES)], cells),
        *(f"{key}: {reason}" for key, reason in failed.items()),
    )
    draw(found, asked.figure)


if __name__ == "__main__":
    main()
