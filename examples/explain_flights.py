"""Why does the model expect a delay?
==================================

SHAP values of real flights, drawn by shap.

The model of flight_delays.py is fitted again. Then each prediction for flights of
November and December is taken apart: what does each column add to the log-odds of a
delay? Two pictures are written to a folder:

- flights_beeswarm.png: many flights, the most important columns first. A dot is a
  flight; to the right the column made a delay more likely. Red dots have high values.
- flights_waterfall.png: the one flight that the model is most worried about.

Run `python examples/explain_flights.py`, or with `--rows 5000` for a quick look;
`--folder pictures` tells where to write. It needs the packages shap and matplotlib.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from pathlib import Path

import matplotlib
import numpy as np

from skgoss import LGBMClassifier

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import shap

FLIGHTS = runpy.run_path(str(Path(sys.argv[0]).with_name("flight_delays.py")))


def save(path: Path) -> None:
    """Write the current figure to a file."""
    plt.savefig(path, dpi=110, bbox_inches="tight")
    print(f"wrote {path.name}")


def main() -> None:
    """Fit, explain, draw."""
    line = argparse.ArgumentParser(description="Explain a model of flights.")
    line.add_argument("--rows", type=int, help="use so many flights only")
    line.add_argument("--folder", type=Path, default=Path())
    given = line.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    table = FLIGHTS["flights"](given.rows)
    columns = FLIGHTS["CATEGORIES"] + FLIGHTS["TIMETABLE"] + FLIGHTS["WEATHER"]
    X, y = table[columns], table["late"]
    past = table["month"] < FLIGHTS["FIRST_TEST_MONTH"]
    model = LGBMClassifier(n_estimators=100, num_leaves=31, cat_smooth=30, cat_l2=1000)
    model.fit(X[past], y[past])

    start = time.perf_counter()
    explained = model.explain(X[~past])
    seconds = time.perf_counter() - start
    raw = model.decision_function(X[~past])
    error = np.abs(explained.values.sum(axis=1) + explained.base_values - raw).max()
    print(f"explained {len(raw):,} flights in {seconds:.2f} s")
    print(f"largest difference between the sum of a row and its raw score: {error:.1e}")

    some = np.random.default_rng(0).permutation(len(raw))[:2000]
    shap.plots.beeswarm(explained[some], max_display=12, show=False)
    save(given.folder / "flights_beeswarm.png")
    plt.figure()
    shap.plots.waterfall(explained[int(raw.argmax())], max_display=12, show=False)
    save(given.folder / "flights_waterfall.png")


if __name__ == "__main__":
    main()
