"""Write the tables of docs/objectives.md and docs/evaluation.md.

They are made from `OBJECTIVES` and `METRICS` of the package.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from skgoss.objectives.metrics import METRICS
from skgoss.objectives.objectives import OBJECTIVES

DOCS = Path(__file__).parent
OBJECTIVE_HEAD = ("objective", "loss", "targets", "metric", "other names")
METRIC_HEAD = ("task", "metrics (italics: higher is better)")
# The tasks of metrics, and what to say of their metrics.
METRICS_OF = {
    "regression": ("regression", "{}"),
    "quantiles": (
        "several quantiles",
        "the regression metrics, averaged over the quantiles; {}",
    ),
    "binary": ("binary classification", "{}"),
    "multiclass": ("multiclass classification", "{}"),
    "distribution": (
        "distributions",
        "the regression metrics, computed from the mean; nll, {}",
    ),
    "survival": ("survival", "{}"),
    "cox": ("'cox', 'cox_efron'", "{}, the negative partial log-likelihood"),
    "likelihood": ("'aft_normal' and others", "{}, the negative log-likelihood"),
    "ranking": ("ranking", "{}: at each k in `eval_at`, such as ndcg@5"),
}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (f"| {' | '.join(row)} |\n".replace("  ", " ") for row in (head, *rows))
    first, *rest = lines
    return first + "|---" * len(head) + "|\n" + "".join(rest)


def objectives(task: str) -> str:
    """The objectives of a task."""
    return table(
        OBJECTIVE_HEAD,
        (
            (
                f"`{name}`",
                spec.description,
                spec.suits or spec.targets.description,
                spec.metric or name,
                ", ".join(f"`{alias}`" for alias in spec.aliases),
            )
            for name, spec in OBJECTIVES.items()
            if spec.task == task
        ),
    )


def metrics() -> str:
    """The metrics by task, without those that are the loss of an objective."""
    rows = []
    for task, (words, meaning) in METRICS_OF.items():
        names = (
            f"*{name}*" if spec.maximize else name
            for name, spec in METRICS.items()
            if spec.task == task and name not in OBJECTIVES
        )
        rows.append((words, meaning.format(", ".join(names))))
    return table(METRIC_HEAD, rows)


def pages() -> dict[Path, str]:
    """The pages with new tables: each is the first below its heading."""
    tables = {
        DOCS / "objectives.md": {
            f"## {task.title()}": objectives(task)
            for task in ("regression", "classification", "ranking", "survival")
        },
        DOCS / "evaluation.md": {"## Metrics": metrics()},
    }
    written = {}
    for path, of_page in tables.items():
        page = path.read_text(encoding="utf-8")
        for heading, new in of_page.items():
            before = rf"(^{heading}\n(?:(?!#|\|).*\n)*)(?:\|.*\n)+"
            page = re.sub(before, lambda m, new=new: m[1] + new, page, flags=re.M)
        written[path] = page
    return written


if __name__ == "__main__":
    for path, page in pages().items():
        path.write_text(page, encoding="utf-8")
