"""Explain predictions with SHAP values
====================================

Compute SHAP values for flight delays, and draw them with the package shap.

The script fits the model of flight_delays.py. For each flight of November and
December, it computes what each column contributes to the log-odds of a delay. It
writes two pictures to a folder:

- flights_beeswarm.png shows many flights, with the most important columns first. A dot
  is a flight. Dots on the right are flights for which the column made a delay more
  likely. Red dots have high values of the column.
- flights_waterfall.png shows the flight with the highest predicted probability.

Run `python examples/explain_flights.py`. With `--rows 5000` it takes a few seconds.
`--folder pictures` sets the folder. It needs
`python -m pip install ".[examples]" shap`.
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
    plt.tight_layout()
    plt.savefig(path, dpi=110, bbox_inches="tight")
    print(f"wrote {path.name}")


def main() -> None:
    """Fit, explain, draw."""
    line = argparse.ArgumentParser(description="Explain a model of flight delays.")
    line.add_argument("--rows", type=int, help="number of flights to use")
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
