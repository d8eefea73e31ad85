"""Where does the time of a fit go? By function of the package, own time."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path

from adapters import EQUAL, LIBRARIES, make
from data import SHAPES, SMALL
from measure import digits, parser, report, table


def main() -> None:
    """Read the command line, profile, print."""
    line = parser(__doc__, ("skgoss",))
    line.set_defaults(repeats=1)
    line.add_argument("--data", choices=[*SHAPES, *SMALL], default="binary")
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--threads", type=int, default=1)
    line.add_argument("--rows", type=int, default=15, help="lines of the table")
    asked = line.parse_args()
    problem = (
        SMALL[asked.data]() if asked.data in SMALL else SHAPES[asked.data](asked.scale)
    )
    X, y = problem.train if problem.n_train else (problem.X, problem.y)
    for library in asked.libraries:
        model = make(library, problem.task, {**EQUAL, "n_jobs": asked.threads})
        model.fit(X[:500], y[:500])
        profile = cProfile.Profile()
        for _ in range(asked.repeats):
            profile.runcall(model.fit, X, y)
        report(
            f"{library}: fit of {asked.data}, {len(X):,} rows, {asked.threads} threads",
            [library],
            table(
                ["function", "calls", "own s", "with callees s", "own %"],
                _lines(pstats.Stats(profile), LIBRARIES[library].module, asked.rows),
            ),
        )


def _lines(stats: pstats.Stats, module: str, n_rows: int) -> list[list[str]]:
    """Rows of the table, the most expensive function first."""
    folder = module.split(".", maxsplit=1)[0]
    found = []
    ordered = sorted(stats.stats.items(), key=lambda item: -item[1][2])
    for (path, _, name), (_, calls, own, total, _) in ordered[:n_rows]:
        parts = Path(path).parts
        where = "/".join(parts[parts.index(folder) :]) if folder in parts else ""
        label = f"{where}:{name}".lstrip(":").replace("|", " ")
        share = f"{100 * own / stats.total_tt:.1f}"
        found.append([label, str(calls), digits(own), digits(total), share])
    return found


if __name__ == "__main__":
    main()
