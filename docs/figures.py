"""Draw figures of the pages: `python docs/figures.py [FOLDER]`.

Each function draws one figure, whose sums and gains are computed. Plots below code are
drawn by this code: `python tools/pages.py --write`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

FOLDER = Path(__file__).parent / "figures"
BLUE, ORANGE, GRAY, LIGHT = "#1f6fb4", "#d9661f", "#8a8a8a", "#dfe6ee"
STYLE = {
    # Text stays text, which keeps the files small; equal input makes equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "skgoss",
    "font.size": 10,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def histogram() -> Figure:
    """Rows, their bins, the sums of the bins, and the gain of each cut."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.gamma(2.0, 1.0, 160))
    y = np.where(x < 1.6, -0.6, 0.7) + 0.5 * rng.standard_normal(len(x))
    gradient = y.mean() - y
    n_bins = 12
    bounds = np.quantile(x, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(bounds, x)
    sums = np.bincount(bins, gradient, n_bins)
    counts = np.bincount(bins, minlength=n_bins)
    left, n_left = sums.cumsum()[:-1], counts.cumsum()[:-1]
    right, n_right = sums.sum() - left, len(x) - n_left
    gain = left**2 / n_left + right**2 / n_right - sums.sum() ** 2 / len(x)
    best = int(gain.argmax())

    figure, (rows, stack, cuts) = plt.subplots(
        3, 1, figsize=(6.4, 5.6), layout="constrained"
    )
    rows.plot(x, gradient, ".", color=BLUE, markersize=4)
    for number, bound in enumerate(bounds):
        chosen = number == best
        color, width = (ORANGE, 2) if chosen else (GRAY, 0.6)
        rows.axvline(bound, color=color, linewidth=width)
    rows.set(
        ylabel="gradient",
        xlabel="value of the column; the lines are the bin boundaries",
    )
    rows.set_title("1. Divide the values into bins", loc="left")
    places = np.arange(n_bins)
    stack.bar(places, sums, color=[BLUE if b <= best else LIGHT for b in places])
    stack.axhline(0, color=GRAY, linewidth=0.8)
    stack.axvline(best + 0.5, color=ORANGE, linewidth=2)
    stack.set(ylabel="sum of gradients", xlabel="bin", xticks=places)
    stack.set_title("2. Sum the gradients in each bin: the histogram", loc="left")
    cuts.plot(np.arange(n_bins - 1) + 0.5, gain, "o-", color=BLUE)
    cuts.plot(best + 0.5, gain[best], "o", color=ORANGE, markersize=9)
    cuts.set(ylabel="gain", xlabel="bin", xticks=places, xlim=stack.get_xlim())
    cuts.set_title(
        "3. Compute the gain of each cut between two bins; take the largest", loc="left"
    )
    return figure


def places(splits: list[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[float, int]]:
    """Place the nodes of a tree: leaves side by side, parents in their middle."""
    found = {}

    def place(path: tuple[int, ...], first: float) -> float:
        if path not in splits:
            found[path] = (first + 0.5, -len(path))
            return first + 1
        last = place((*path, 1), place((*path, 0), first))
        left, right = found[(*path, 0)][0], found[(*path, 1)][0]
        found[path] = ((left + right) / 2, -len(path))
        return last

    place((), -(len(splits) + 1) / 2)
    return found


def draw_tree(ax: Any, splits: list[tuple[int, ...]], new: int) -> None:
    """Draw a tree by the paths of the nodes that are split; the last `new` are new."""
    at = places(splits)
    for path in splits:
        for side in (0, 1):
            ends = zip(at[path], at[(*path, side)], strict=True)
            ax.plot(*ends, color=GRAY, linewidth=1, zorder=1)
    for path, (x, y) in at.items():
        is_split = path in splits
        color = (BLUE, ORANGE)[path in splits[-new:]] if is_split else "#8fbf8f"
        marker, size = ("o", 70) if is_split else ("s", 35)
        ax.scatter(x, y, s=size, color=color, marker=marker, zorder=2)
    ax.set(xlim=(-4.2, 4.2), ylim=(-6.1, 0.4))
    ax.text(0, -6.0, f"{len(splits) + 1} leaves", ha="center", fontsize=9)
    ax.set_axis_off()


def leaf_wise() -> Figure:
    """Both ways to grow a tree of eight leaves."""
    by_level = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    by_leaf = [(), (1,), (1, 0), (1, 0, 1), (0,), (1, 0, 1, 0), (0, 1)]
    ways = {
        "Level-wise growth: all leaves of a level are split": (
            by_level,
            [(1, 1), (3, 2), (7, 4)],
        ),
        "Leaf-wise growth: the leaf with the largest gain is split": (
            by_leaf,
            [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1)],
        ),
    }
    figure = plt.figure(figsize=(7.0, 4.8), layout="constrained")
    parts = figure.subfigures(2, 1)
    for part, (title, (splits, stages)) in zip(parts, ways.items(), strict=True):
        part.suptitle(title, x=0.01, ha="left", fontsize=12)
        for ax, (until, new) in zip(part.subplots(1, 5), stages, strict=False):
            draw_tree(ax, splits[:until], new)
        for ax in part.axes[len(stages) :]:
            ax.set_axis_off()
    return figure


def goss() -> Figure:
    """Sizes of gradients in order: rows kept, rows drawn, rows left out."""
    rng = np.random.default_rng(1)
    n, top, other = 100, 20, 10
    size = np.sort(np.abs(rng.standard_normal(n) ** 3))[::-1] ** 0.6
    drawn = top + np.sort(rng.choice(n - top, other, replace=False))
    factor = (n - top) / other
    order = np.arange(n)
    kinds = {
        "kept: the 20 largest": (order < top, BLUE),
        f"sampled: 10 of the others, with weight {factor:.0f}": (
            np.isin(order, drawn),
            ORANGE,
        ),
        "not used in this round": (None, LIGHT),
    }
    figure, ax = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    rest = np.ones(n, dtype=bool)
    for label, (chosen, color) in kinds.items():
        rows = rest if chosen is None else chosen
        ax.bar(order[rows], size[rows], width=0.85, color=color, label=label)
        rest = rest & ~rows
    ax.set(xlabel="100 rows, sorted by gradient", ylabel="|gradient|")
    ax.set(xticks=[], xlim=(-1, n))
    ax.legend(frameon=False)
    return figure


def grid(ax: Any, cells: np.ndarray, at: float, names: list[str], colors: Any) -> None:
    """Draw a table of numbers with its left side at a place."""
    n_rows = len(cells)
    for (row, column), value in np.ndenumerate(cells):
        corner = (at + column, n_rows - row - 1)
        color = colors(row, column)
        ax.add_patch(Rectangle(corner, 1, 1, facecolor=color, edgecolor="white", lw=2))
        middle = (corner[0] + 0.5, corner[1] + 0.45)
        ax.text(*middle, str(value), ha="center", va="center")
    for column, name in enumerate(names):
        ax.text(at + column + 0.5, n_rows + 0.2, name, ha="center", fontsize=9)


def bundling() -> Figure:
    """One-hot columns and the one column of codes that stands for them."""
    shade = ["#cfe1f3", "#f7d9c4", "#d5e8d4", "#e6d9ee"]
    airports = ["JFK", "LGA", "EWR", "BOS"]
    at = np.array([0, 2, 1, 0, 3, 1, 2])
    onehot = (at[:, None] == np.arange(4)).astype(int)
    codes = onehot @ np.arange(1, 5)
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    grid(ax, onehot, 0, airports, lambda r, c: shade[c] if onehot[r, c] else "#f4f4f4")
    ax.annotate(
        "", (6.6, 3.5), (4.4, 3.5), arrowprops={"arrowstyle": "-|>", "color": GRAY}
    )
    ax.text(5.5, 3.8, "bundle", ha="center")
    grid(ax, codes[:, None], 7, ["code"], lambda r, c: shade[at[r]])
    for number, airport in enumerate(airports):
        text = f"code {number + 1}: {airport} = 1"
        ax.text(8.6, 5.3 - number * 1.2, text, va="center", fontsize=9)
    ax.set(xlim=(-0.1, 11.5), ylim=(-0.2, 8), aspect="equal")
    ax.set_axis_off()
    return figure


def presets() -> Figure:
    """Loss against time of the presets and of other libraries, from accuracy.md."""
    page = (FOLDER.parent / "accuracy.md").read_text(encoding="utf-8")
    head = next(table for table in page.split("\n\n") if table.startswith("| model |"))
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for line in head.splitlines()[2:]:
        model, loss, time = (cell.strip() for cell in line.split("|")[1:4])
        name = model.strip("`").replace("LGBMClassifier()", "skgoss")
        name = name.removeprefix("LGBMClassifier(").removesuffix(")")
        name = name.removesuffix("'s defaults")
        at = float(time), float(loss)
        ax.plot(*at, "o", color=BLUE if "`" in model else ORANGE)
        shift = (6, -12) if name == "LightGBM" else (6, 5)
        ax.annotate(name, at, shift, textcoords="offset points", fontsize=9)
    ax.set(xscale="log", xlim=(0.8, 250), ylim=(0.78, 1.14))
    ax.set(xlabel="fit time (defaults = 1)", ylabel="loss (defaults = 1)")
    return figure


def thumbnail() -> Figure:
    """A tree, for examples without a picture."""
    figure, ax = plt.subplots(figsize=(3.2, 2.24), layout="constrained")
    draw_tree(ax, [(), (1,), (1, 0), (0,)], 1)
    ax.texts[0].remove()
    ax.set(xlim=(-3.2, 3.2), ylim=(-3.4, 0.4))
    return figure


def distributions() -> Figure:
    """Densities of a model's predictions along a line, with the rows."""
    from skgoss import LGBMRegressor

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 600))
    y = x * np.sin(x) + (0.3 + 0.3 * x) * rng.standard_normal(len(x))
    model = LGBMRegressor(
        objective="normal", folds=5, num_leaves=6, n_jobs=1, random_state=0
    ).fit(x[:, None], y)
    line = np.linspace(0, 10, 120)
    predicted = model.predict_distribution(line[:, None])
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(x, y, ".", color=GRAY, markersize=3)
    for level in (0.025, 0.1, 0.25, 0.4):
        ends = predicted.ppf(level), predicted.isf(level)
        ax.fill_between(line, *ends, color=BLUE, alpha=0.2, linewidth=0)
    for at in (1.0, 4.0, 7.0, 9.5):
        one = model.predict_distribution(np.array([[at]]))
        values = np.linspace(one.ppf(0.001), one.isf(0.001), 80)
        ax.plot(at + one.pdf(values) * 2, values, color=ORANGE)
    ax.set(xlabel="a column", ylabel="the target, its quantiles and four densities")
    return figure


def survival() -> Figure:
    """Survival functions of three groups of rows by their risk, and who is left."""
    from skgoss import LGBMRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    dies = 4 * rng.exponential(np.exp(-X[:, 0] - X[:, 1] * (X[:, 2] > 0)))
    leaves = rng.uniform(1, 12, 900)
    y = np.column_stack([dies <= leaves, np.minimum(dies, leaves)])
    model = LGBMRegressor(
        objective="cox", folds=5, num_leaves=6, n_jobs=1, random_state=0
    ).fit(X[:600], y[:600])
    groups = np.array_split(600 + np.argsort(model.predict(X[600:])), 3)
    times, years = np.linspace(0, 10, 200), np.arange(0, 11, 2)
    figure, (ax, below) = plt.subplots(
        2,
        1,
        figsize=(6.4, 4.4),
        height_ratios=[5, 1],
        sharex=True,
        layout="constrained",
    )
    names = ("low risk", "middle", "high risk")
    for k, (rows, name) in enumerate(zip(groups, names, strict=True)):
        color = (BLUE, GRAY, ORANGE)[k]
        mean = model.predict_survival_function(X[rows], times).mean(axis=0)
        ax.plot(times, mean, color=color, label=name)
        # Kaplan and Meier's estimate, from the rows themselves.
        event, time = y[rows].T
        moments = np.unique(time[event == 1])
        died = [((time == t) & (event == 1)).sum() / (time >= t).sum() for t in moments]
        steps = np.cumprod(1 - np.array(died))
        ax.step(
            np.append(0, moments), np.append(1, steps), ":", color=color, where="post"
        )
        for year in years:
            number = str((time >= year).sum())
            below.text(year, 2 - k, number, ha="center", va="center", color=color)
    ax.set(ylabel="share without an event", ylim=(0, 1.02))
    ax.legend(frameon=False)
    below.set(
        ylim=(-0.6, 2.6), yticks=[], xlabel="years", ylabel="at risk", xlim=(-0.3, 10.3)
    )
    below.spines[:].set_visible(False)
    return figure


FIGURES = {
    "histogram.svg": histogram,
    "leaf_wise.svg": leaf_wise,
    "goss.svg": goss,
    "bundling.svg": bundling,
    "presets.svg": presets,
    "distributions.svg": distributions,
    "survival.svg": survival,
    "thumbnail.svg": thumbnail,
}


def main(folder: Path = FOLDER) -> None:
    """Write all figures into a folder."""
    for name, draw in FIGURES.items():
        with matplotlib.rc_context(STYLE):
            figure = draw()
            figure.savefig(folder / name, metadata={"Date": None, "Creator": None})
            plt.close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
