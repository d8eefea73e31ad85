"""Does a fit end when the system gives it less memory than its data?

Each fit runs in a control group of Linux, whose limit also holds for what the system
keeps of files. This needs root.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import streams
from measure import Failed, attempt, parser, report, table

GROUPS = Path("/sys/fs/cgroup")
MB = 2**20


class Group:
    """A control group of version 2, or of version 1."""

    def __init__(self) -> None:
        is_new = (GROUPS / "cgroup.controllers").is_file()
        self.folder = GROUPS / ("." if is_new else "memory") / f"skgoss-{os.getpid()}"
        self.limit = "memory.max" if is_new else "memory.limit_in_bytes"
        self.peak = "memory.peak" if is_new else "memory.max_usage_in_bytes"
        self.folder.mkdir()

    def enter(self, n_bytes: int) -> None:
        """Limit the memory of this process."""
        (self.folder / self.limit).write_text(str(n_bytes))
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak_megabytes(self) -> float:
        """Return the most memory that the group has used."""
        return int((self.folder / self.peak).read_text()) / MB

    def remove(self) -> None:
        """Remove the group when its process has ended."""
        self.folder.rmdir()


def read_megabytes() -> float:
    """Return what this process has read from disks."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"]) / MB


def fit(kind: str, folder: Path, group: Group, limit: int, n_rounds: int) -> list[Any]:
    """Return seconds to the bins and of a round, MB read in one, and two facts.

    These are whether the user was told of the speed of the disk, and which model it is.
    """
    from skgoss import Dataset, train

    group.enter(limit)
    start = time.perf_counter()
    if kind == "values":
        values, label = streams.in_memory(folder)
        rows = Dataset(values, label=label)
    else:
        place = folder.parent if kind == "bins in files" else None
        rows = Dataset(folder, label="label", memory_map=place)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rows.construct()
        to_bins = time.perf_counter() - start
        train({}, rows, 1)
        start, before = time.perf_counter(), read_megabytes()
        model = train({}, rows, n_rounds)
    each = (time.perf_counter() - start) / n_rounds
    read = (read_megabytes() - before) / n_rounds
    told_of_disk = any("speed of the disk" in str(warning.message) for warning in told)
    digest = hashlib.sha256(model.model_to_string().encode()).hexdigest()[:8]
    return [f"{to_bins:.0f}", f"{each:.1f}", f"{read:.0f}", told_of_disk, digest]


def main() -> None:
    """Read the command line, write the files, fit, print."""
    line = parser(__doc__, ("skgoss",), ("skgoss",))
    line.add_argument("--rows", type=int, default=4_000_000)
    line.add_argument("--columns", type=int, default=100)
    line.add_argument("--rounds", type=int, default=3)
    asked = line.parse_args()
    values = 4 * asked.rows * asked.columns
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "rows"
        folder.mkdir()
        streams.write(folder, asked.rows, asked.columns)
        for kind, share in (
            ("values", 0.75),
            ("bins in memory", 0.75),
            ("bins in files", 0.75),
            ("bins in files", 0.375),
        ):
            group, limit = Group(), int(share * values)
            found = attempt(fit, kind, folder, group, limit, asked.rounds)
            if isinstance(found, Failed):
                found = ["killed", "", "", "", ""]
            peak = f"{group.peak_megabytes():.0f}"
            rows.append([kind, f"{limit / MB:.0f}", peak, *map(str, found)])
            group.remove()
    header = ["", "limit in MB", "peak", "s to bins", "s a round", "MB read"]
    header += ["warned", "model"]
    title = f"{asked.rows} x {asked.columns}: values {values / MB:.0f} MB"
    report(title, asked.libraries, table(header, rows))


if __name__ == "__main__":
    main()
