"""Train on a folder that is larger than memory
============================================

A bin takes one byte, so a machine can train on several times more values than its
memory holds. This example writes a folder of Parquet files, limits the memory of the
process so that the values do not fit, and trains on the folder. It needs
`python -m pip install pyarrow`.
"""

import argparse
import resource
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.parquet

from skgoss import Dataset, train

N_COLUMNS = 60
N_FILES = 10
# The rows whose values find the bins are in memory at once.
SAMPLE = {"bin_construct_sample_cnt": 50_000}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=1_000_000)
n_rows = parser.parse_args().rows


def write(path, seed):
    """Write a file of random rows with the column 'units' as their target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows // N_FILES, N_COLUMNS))
    units = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
    columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
    table = pyarrow.table(columns | {"units": units})
    pyarrow.parquet.write_table(table, path, use_dictionary=False)


def used_megabytes():
    """The memory that this process has allocated."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData"):
            return int(line.split()[1]) // 1024
    return None


def peak_megabytes():
    """The most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


with tempfile.TemporaryDirectory() as folder:
    sales = Path(folder) / "sales"
    sales.mkdir()
    for number in range(N_FILES):
        write(sales / f"{number}.parquet", number)
    values = n_rows * N_COLUMNS * 8 // 2**20
    print(f"the values take {values} MB")

    # A small fit imports and allocates what every fit needs.
    train(SAMPLE, Dataset(sales / "0.parquet", label="units"), 1)
    limit = (used_megabytes() + values * 3 // 4) * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    before = peak_megabytes()
    model = train(SAMPLE, Dataset(sales, label="units"), num_boost_round=20)
    more = max(0, peak_megabytes() - before)
    print(f"training took {more} MB more")

    # Predictions are computed in batches, too.
    predicted = model.predict(sales)
    print(f"predicted {len(predicted)} rows")
    model.predict(sales, to_parquet=Path(folder) / "predicted.parquet")

    try:
        np.ones((n_rows, N_COLUMNS))
    except MemoryError:
        print("the values themselves do not fit")

_, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
ax.barh(["training", "the limit", "the values"], [more, values * 3 // 4, values])
ax.set(xlabel="MB")
plt.show()
