"""Plot trees, feature importances and metrics
===========================================

Draw a model of flight delays: its importances, its metric and its trees.

The script writes these pictures to a folder: the importances of the columns, the
metrics during training, and the path of one flight through the first tree. It prints
the second tree as text. `examples/flight_delays.py` describes the data.

Run `python examples/plots.py --folder pictures`. With `--rows 5000` it takes a few
seconds. It needs `python -m pip install ".[examples]"`.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

import matplotlib

import skgoss

FLIGHTS = runpy.run_path(str(Path(sys.argv[0]).with_name("flight_delays.py")))
COLUMNS = ["carrier", "origin", "dest", *FLIGHTS["TIMETABLE"], *FLIGHTS["WEATHER"]]


def main() -> None:
    """Fit and draw."""
    line = argparse.ArgumentParser(description="Draw a model of flight delays.")
    line.add_argument("--rows", type=int, help="number of flights to use")
    line.add_argument("--folder", type=Path, default=Path("pictures"))
    given = line.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")  # pictures go into files; no window is needed
    table = FLIGHTS["flights"](given.rows)
    X, y = table[COLUMNS], table["late"]
    past = table["month"] < FLIGHTS["FIRST_TEST_MONTH"]

    model = skgoss.LGBMClassifier(
        n_estimators=100, num_leaves=7, early_stopping_round=20
    )
    model.fit(
        X[past],
        y[past],
        eval_set=[(X[past], y[past]), (X[~past], y[~past])],
        eval_names=["training", "November and December"],
    )

    plots = {
        "importance.png": skgoss.plot_importance(model, importance_type="gain"),
        "metric.png": skgoss.plot_metric(model),
        "tree.png": skgoss.plot_tree(
            model, show_info=["data_percentage"], example_case=X[~past][:1]
        ),
    }
    for name, ax in plots.items():
        ax.get_figure().savefig(given.folder / name)

    print(skgoss.draw_tree(model, tree_index=1))


if __name__ == "__main__":
    main()
