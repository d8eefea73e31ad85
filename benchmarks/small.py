"""How long do small fits at default parameters take?"""

from __future__ import annotations

from functools import partial

from adapters import make
from data import SMALL
from measure import alternate, best_of, fresh, parser, relative, report, summary, table


def burst(library: str, name: str, budget: float) -> float:
    """Return the best time of a fit among those of `budget` seconds."""
    problem = SMALL[name]()
    return best_of(
        lambda: make(library, problem.task, {}).fit(problem.X, problem.y), budget
    )


def compare(
    libraries: list[str], name: str, budget: float, repeats: int
) -> list[list[str]]:
    """Measure one data set; rows of the table."""
    jobs = {
        library: partial(fresh, burst, library, name, budget) for library in libraries
    }
    times = alternate(jobs, repeats)
    return [
        [
            name,
            library,
            summary(times[library], 1e-3),
            relative(times, library),
        ]
        for library in libraries
    ]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.add_argument("--budget", type=float, default=2.0, help="seconds a turn")
    asked = line.parse_args()
    rows = [
        row
        for name in SMALL
        for row in compare(asked.libraries, name, asked.budget, asked.repeats)
    ]
    header = [
        "data",
        "library",
        "milliseconds: best (median of turns)",
        "lightgbm / it",
    ]
    report("Small fits, defaults", asked.libraries, table(header, rows))


if __name__ == "__main__":
    main()
