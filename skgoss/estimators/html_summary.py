"""What a notebook shows of a fitted model."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from skgoss.model import monotone
from skgoss.model.fitted import FittedModel
from skgoss.utils.messages import one_line

# Number of columns in the table, and of characters of a name.
_N_COLUMNS, _NAME = 5, 40

# Number of characters of the options that a preset has chosen.
_CHOSEN = 600

# Colors and fonts are those of the page. Notebooks would align text to the right.
_CELL = 'style="text-align:left;vertical-align:top;padding:.15em .8em .15em 0"'
_ROW = 'style="background:none"'
_BAR = "display:inline-block;height:.7em;background:#2f7de1;margin-right:.4em"


def summary(model: FittedModel, importance_type: str) -> str:
    """Describe a model: rounds, leaves, best scores and the most important columns.

    The result is HTML: a ``div`` with two tables.
    """
    return (
        '<div class="skgoss-model" style="display:flex;flex-wrap:wrap;gap:0 3em;'
        'align-items:flex-start;margin:.6em 0">'
        f"{_table(_facts(model))}{_table(_columns(model, importance_type), head=True)}"
        "</div>"
    )


def _facts(model: FittedModel) -> Iterable[list[str]]:
    """The rows of the first table: rounds, leaves, the choices of a preset, and scores.

    Each row has a title and a text, in HTML. Models of folds have out-of-fold metrics
    instead of those of evaluation sets.
    """
    n_rounds, n_trees = model.trees.n_rounds, model.trees.n_trees
    n_leaves = int(model.trees.leaf_start[-1])
    stopped = ", chosen by early stopping" if model.best_iteration else ""
    trees = f", {n_trees} trees" if n_trees != n_rounds else ""
    yield ["<b>Rounds</b>", f"{n_rounds}{stopped}{trees}"]
    yield ["<b>Leaves</b>", f"{n_leaves}, {n_leaves / max(n_trees, 1):.1f} a tree"]
    if model.preset_params:
        chosen = model.preset_params.items()
        words = ", ".join(f"{name}={value!r}" for name, value in chosen)
        yield ["<b>Chosen by preset</b>", escape(one_line(words, _CHOSEN))]
    signs = model.header.monotone_constraints
    if any(signs):
        limited = monotone.constrained(model.objective, model.link, model.classes)
        used = model.importances("split")
        words = "; ".join(monotone.in_words(signs, model.feature_names, limited, used))
        yield ["<b>Constraints</b>", escape(one_line(words, _CHOSEN))]
    if model.out_of_fold is not None:
        errors = model.out_of_fold.standard_error()
        for name, value in model.out_of_fold.mean().items():
            yield ["<b>Out of fold</b>", f"{name} {value:.6g} ± {errors[name]:.2g}"]
        return
    title = "<b>Best score</b>" if model.best_iteration else "<b>Last score</b>"
    for name, scores in model.best_score.items():
        words = ", ".join(f"{metric} {value:.6g}" for metric, value in scores.items())
        yield [title, escape(one_line(f"{name}: {words}"))]
        title = ""


def _columns(model: FittedModel, importance_type: str) -> Iterable[list[str]]:
    """The rows of the second table: the most important columns.

    The first row is the head. Each other row has a name, the number of splits, and the
    share of the column in the total gain, as a bar and in percent.
    """
    splits = model.importances("split")
    gains = model.importances("gain")
    names, total = model.feature_names, gains.sum()
    yield [f"Columns by {importance_type}", "Splits", "Gain"]
    # The order of plot_importance.
    order = model.importances(importance_type).argsort(kind="stable")[::-1]
    for column in order[:_N_COLUMNS].tolist():
        if splits[column]:
            share = 100 * gains[column] / total
            bar = f'<span style="{_BAR};width:{share / 20:.2f}em"></span>'
            name = escape(one_line(names[column], _NAME))
            yield [name, str(splits[column]), f"{bar}{share:.1f} %"]


def _table(rows: Iterable[list[str]], head: bool = False) -> str:
    """A table in HTML; ``head``: the first of the ``rows`` has titles of columns."""
    lines = []
    for number, row in enumerate(rows):
        cell = "th" if head and number == 0 else "td"
        cells = "".join(f"<{cell} {_CELL}>{text}</{cell}>" for text in row)
        lines.append(f"<tr {_ROW}>{cells}</tr>")
    return f'<table style="border:none;margin:0">{"".join(lines)}</table>'
