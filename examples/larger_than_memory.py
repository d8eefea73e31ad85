"""Train on a folder that is larger than memory
============================================

A bin takes one byte, so the values may be several times larger than memory. This
example limits the memory of its process, so that the values do not fit. It runs on
Linux.

To run it: ``pip install skgoss matplotlib pyarrow``.
"""

# %%
# A folder of Parquet files
# -------------------------
#
# Ten files of 60 columns and the target 'units'.
import resource
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.parquet

from skgoss import Dataset, train

N_ROWS = 1_000_000
N_COLUMNS = 60
N_FILES = 10
folder = tempfile.TemporaryDirectory()
sales = Path(folder.name) / "sales"
sales.mkdir()
for number in range(N_FILES):
    rng = np.random.default_rng(number)
    X = rng.normal(size=(N_ROWS // N_FILES, N_COLUMNS))
    units = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
    columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
    table = pyarrow.table(columns | {"units": units})
    pyarrow.parquet.write_table(
        table, sales / f"{number}.parquet", use_dictionary=False
    )
values = N_ROWS * N_COLUMNS * 8 // 2**20
print(f"the values take {values} MB")

# %%
# Limit the memory
# ----------------
#
# The process may allocate three quarters of the size of the values, in addition to what
# it has allocated. A small fit first allocates what every fit needs. The sampled rows
# that determine the bins are in memory at once, so ``subsample_for_bin`` is smaller
# than by default.
SAMPLE = {"bin_construct_sample_cnt": 50_000}
del X, units, columns, table
train(SAMPLE, Dataset(sales / "0.parquet", label="units"), 1)

status = Path("/proc/self/status").read_text().splitlines()
allocated = next(int(line.split()[1]) // 1024 for line in status if "VmData" in line)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
without = resource.getrlimit(resource.RLIMIT_DATA)
limit = (allocated + values * 3 // 4) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, without[1]))
try:
    np.ones((N_ROWS, N_COLUMNS))
except MemoryError:
    print("the values themselves do not fit")

# %%
# Train and predict
# -----------------
#
# Both read the files in batches.
model = train(SAMPLE, Dataset(sales, label="units"), num_boost_round=20)
more = max(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 - before)
print(f"training took {more} MB more")

print(f"predicted {len(model.predict(sales))} rows")
model.predict(sales, to_parquet=Path(folder.name) / "predicted.parquet")
resource.setrlimit(resource.RLIMIT_DATA, without)
folder.cleanup()

# %%
_, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
ax.barh(["training", "the limit", "the values"], [more, values * 3 // 4, values])
ax.set(xlabel="MB")
plt.show()
