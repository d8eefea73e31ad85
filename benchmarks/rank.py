"""How long does learning to rank take, and how well are documents ranked?"""

from __future__ import annotations

from functools import partial

import numpy as np
from adapters import EQUAL, make
from data import ranking
from measure import (
    alternate,
    fresh,
    parser,
    relative,
    report,
    seconds,
    summary,
    table,
)

LIBRARIES = ["skgoss", "lightgbm", "xgboost"]
DOCUMENTS = 60


def fit(library: str, scale: float, threads: int) -> tuple[float, float]:
    """Return the seconds of a fit of 100 rounds, and NDCG@10 on other queries."""
    from skgoss import ndcg_scorer

    problem = ranking(scale)
    (X, y), (X_test, y_test) = problem.train, problem.test
    model = make(library, "ranking", {**EQUAL, "n_jobs": threads})
    qid, qid_test = (np.arange(len(part)) // DOCUMENTS for part in (X, X_test))
    queries = {"qid": qid} if library == "xgboost" else {"group": np.bincount(qid)}
    taken = seconds(lambda: model.fit(X, y.astype(np.int32), **queries))
    return taken, ndcg_scorer(10)(model, X_test, y_test, qid=qid_test)


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.set_defaults(libraries=LIBRARIES)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--threads", type=int, default=2)
    asked = line.parse_args()
    jobs = {
        library: partial(
            fresh, fit, library, asked.scale, asked.threads, threads=asked.threads
        )
        for library in asked.libraries
    }
    found = alternate(jobs, asked.repeats)
    times = {library: [run[0] for run in runs] for library, runs in found.items()}
    rows = [
        [
            library,
            summary(times[library]),
            relative(times, library),
            f"{found[library][0][1]:.4f}",
        ]
        for library in asked.libraries
    ]
    n_rows = int(240_000 * asked.scale)
    report(
        f"LambdaRank, {n_rows:,} x 136, queries of {DOCUMENTS}",
        asked.libraries,
        table(["library", "seconds", "lightgbm / it", "NDCG@10"], rows),
    )


if __name__ == "__main__":
    main()
