"""How long would a fit take on more cores than this machine has?

Each parallel loop of skgoss, LightGBM or XGBoost is run part by part on one thread.
Each part and each chunk of its work is measured; then they are assigned to 2 to 64
virtual cores. The time on P cores is the serial time, plus for each loop its longest
part and what it costs to start it: ``--overhead`` nanoseconds times log2(its parts).
`many_cores.c` says how parts are measured. It takes the place of OpenMP; the pool of
skgoss hands its loops over to it.

Not known to it: memory bandwidth, caches that cores share, lower clocks when all cores
are busy, waiting for locks, threads that must be woken. So predictions are too
optimistic, most of all where loops stream through memory. LightGBM lays out rows in two
ways; both are measured, and the better prediction counts. Linux on x86-64 and GCC only.

Fits that run side by side (``--task folds``, ``cv``, ``search``) are measured one after
the other, each with the threads that it would have; then they are dealt out to the
threads of the schedule, which wait for each other where they hold Python's interpreter
lock: in turn, and ``--wake`` nanoseconds longer for each time they had to wait.

    python benchmarks/many_cores.py skgoss,lightgbm higgs --rounds 50
    python benchmarks/many_cores.py skgoss higgs --cores 2,16 --top 12  # what is lost
    python benchmarks/many_cores.py skgoss higgs --real 2               # real threads
    python benchmarks/many_cores.py skgoss,lightgbm higgs --task predict
    python benchmarks/many_cores.py skgoss small --task folds

With ``--json FILE --figure PICTURE`` all runs that the file has are drawn: lines for
predictions, crosses for real threads.
"""

from __future__ import annotations

import argparse
import bisect
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache, partial
from pathlib import Path

import side_by_side

HERE = Path(__file__).resolve().parent
LIBRARIES = "skgoss", "lightgbm", "xgboost"
COLORS = "#d9661f", "#1f6fb4", "#4d9a4d"
# LightGBM tries these two and keeps the faster one. By its clock that is not what it
# would be on more cores.
LAYOUTS = {"force_col_wise": True}, {"force_row_wise": True}

# ------------------------------------------------------------------ workloads
# Each returns X, y, the kind of the task, and arguments of `fit`.


def higgs(n=200_000):
    """200,000 x 28."""
    import numpy as np

    r = np.random.default_rng(0)
    X = r.standard_normal((n, 28)).astype(np.float32)
    X[:, 7:14] = np.abs(X[:, 7:14]) ** 1.5
    X[:, 14:18] = np.round(X[:, 14:18] * 2) / 2  # few values
    mass = np.sqrt(np.abs(X[:, 0] * X[:, 1] + X[:, 2] ** 2)) + 0.3 * X[:, 21:25].sum(1)
    z = np.sin(X[:, 3] * 2) + (X[:, 4] + 0.6) * (X[:, 5] + 0.6) - 0.7 * mass
    z += 0.5 * X[:, 7] * (X[:, 14] > 0) + 0.5 * X[:, 18] * X[:, 19] * (X[:, 20] > 0)
    return X, (z + r.logistic(size=n) * 1.2 > -0.3).astype(np.int32), "classifier", {}


def higgs1m():
    """1,000,000 x 28."""
    return higgs(1_000_000)


def higgs20k():
    """20,000 x 28."""
    return higgs(20_000)


def covtype(n=150_000):
    """Dense, 54 columns, 44 of them 0 or 1, seven classes."""
    import numpy as np

    r = np.random.default_rng(4)
    X = np.zeros((n, 54), np.float32)
    X[:, :10] = np.round(r.standard_normal((n, 10)) * 100)
    wild, soil = r.integers(0, 4, n), r.integers(0, 40, n)
    X[np.arange(n), 10 + wild] = X[np.arange(n), 14 + soil] = 1
    f = np.c_[X[:, :10] / 100, soil / 20 - 1, wild - 1.5]
    z = f @ r.standard_normal((12, 7)) + 1.5 * np.sin(f[:, :7] * 2) * f[:, 3:10]
    y = np.argmax(z + r.gumbel(size=z.shape), axis=1).astype(np.int32)
    return X, y, "classifier", {}


def onehot(n=400_000, n_columns=32, n_levels=130):
    """Sparse: 32 categorical columns of 130 levels each, one-hot."""
    import numpy as np
    import scipy.sparse as sp

    r = np.random.default_rng(1)
    codes = np.minimum(
        (r.pareto(1.2, (n, n_columns)) * 6).astype(np.int64), n_levels - 1
    )
    effect = r.standard_normal((n_columns, n_levels)) * 0.35
    z = effect[np.arange(n_columns), codes].sum(1)
    z += 1.2 * ((codes[:, 0] < 3) & (codes[:, 1] < 4))
    z -= 0.8 * ((codes[:, 2] > 5) & (codes[:, 3] < 2))
    indices = (codes + np.arange(n_columns) * n_levels).astype(np.int32).ravel()
    start = np.arange(0, n * n_columns + 1, n_columns, dtype=np.int32)
    shape = n, n_columns * n_levels
    X = sp.csr_matrix((np.ones(n * n_columns, np.float32), indices, start), shape)
    return X, (z + r.logistic(size=n) * 1.5 > 0.3).astype(np.int32), "classifier", {}


def letor(n_queries=4000, docs=60):
    """Ranking: dense, 136 columns, five grades."""
    import numpy as np

    r = np.random.default_rng(3)
    sizes = r.integers(docs // 3, docs * 5 // 3, n_queries)
    n = sizes.sum()
    X = r.standard_normal((n, 136)).astype(np.float32)
    X[:, 40:90] = np.round(np.abs(X[:, 40:90]) * 3)
    X[:, 90:110] = (X[:, 90:110] > 1.0) * np.abs(X[:, 90:110])
    s = X[:, :6].sum(1) * 0.3 + X[:, 0] * X[:, 1] * 0.5 + 0.15 * X[:, 40]
    s += 0.6 * (X[:, 95] > 0) + np.repeat(r.standard_normal(n_queries), sizes)
    s += r.standard_normal(n) * 1.2
    grade = np.digitize(s, np.quantile(s, [0.52, 0.75, 0.90, 0.97])).astype(np.int32)
    return X, grade, "ranker", {"group": sizes}


def flights(n=260_000):
    """A data frame: five numbers, five categories of up to 4,000 levels."""
    import numpy as np
    import pandas as pd

    r = np.random.default_rng(13)
    X, z = pd.DataFrame(), np.zeros(n)
    for name, most in {"month": 12, "day": 31, "hour": 19, "minute": 60}.items():
        X[name] = r.integers(1, most + 1, n)
    X["distance"] = np.round(r.gamma(2, 500, n))
    z += 0.12 * X["hour"] - 0.1 * np.abs(X["month"] - 6)
    levels = {"carrier": 16, "origin": 3, "dest": 105, "flight": 3800, "tail": 4000}
    for name, n_levels in levels.items():
        codes = np.minimum((r.pareto(1.0, n) * n_levels / 8).astype(int), n_levels - 1)
        z += (r.standard_normal(n_levels) * 0.4)[codes]
        X[name] = pd.Categorical(codes)
    y = (z + r.logistic(size=n) > np.quantile(z, 0.75)).astype(np.int32)
    return X, y, "classifier", {}


def regression(n=500_000):
    """Dense, 50 columns, a twentieth of the values missing."""
    import numpy as np

    r = np.random.default_rng(5)
    X = r.random((n, 50))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += (
        10 * X[:, 3] + 5 * X[:, 4] + np.exp(3 * X[:, 5] ** 4) + r.standard_normal(n) * 2
    )
    X[r.random((n, 50)) < 0.05] = np.nan
    return X, y, "regressor", {}


def small():
    """Breast cancer: 569 rows, 30 columns."""
    from sklearn.datasets import load_breast_cancer

    return *load_breast_cancer(return_X_y=True), "classifier", {}


WORKLOADS = {
    f.__name__: f
    for f in (
        higgs,
        higgs1m,
        higgs20k,
        covtype,
        onehot,
        letor,
        flights,
        regression,
        small,
    )
}

# ------------------------------------------------------------------ what is measured


def estimator(library, kind, rounds, cores, options):
    params = {"n_estimators": rounds, "learning_rate": 0.1, "n_jobs": cores}
    if library == "xgboost":
        import xgboost

        name = {
            "classifier": "Classifier",
            "regressor": "Regressor",
            "ranker": "Ranker",
        }[kind]
        params |= {
            "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide",
            "tree_method": "hist", "enable_categorical": True,
            "min_child_weight": 1e-3, "reg_lambda": 0,
        }  # fmt: skip
        return getattr(xgboost, "XGB" + name)(**params | options)
    params |= {"num_leaves": 31, "min_child_samples": 20}
    if library == "lightgbm":
        import lightgbm as module

        params["verbose"] = -1
    else:
        import skgoss as module
    name = {
        "classifier": "LGBMClassifier",
        "regressor": "LGBMRegressor",
        "ranker": "LGBMRanker",
    }
    return getattr(module, name[kind])(**params | options)


def binned(library, X, y, cores, options):
    if library == "xgboost":
        import xgboost

        return xgboost.QuantileDMatrix(X, y, nthread=cores, enable_categorical=True)
    module = __import__(library)
    params = {"num_threads": cores, "verbose": -1} | options
    return module.Dataset(X, y, params=params).construct()


def job(args, data):
    """Of the cores and options, a function to measure."""
    if args.task in side_by_side.TASKS:
        return side_by_side.job(args, data, estimator)
    X, y, kind, more = data
    if args.task == "bin":
        return lambda cores, options: lambda: binned(args.library, X, y, cores, options)
    if args.task == "fit":
        return lambda cores, options: (
            lambda: estimator(args.library, kind, args.rounds, cores, options).fit(
                X, y, **more
            )
        )
    n = min(200_000, X.shape[0])
    rows = X.iloc[:n] if hasattr(X, "iloc") else X[:n]
    model = estimator(args.library, kind, args.rounds, 2, args.options).fit(
        X, y, **more
    )
    predict = getattr(model, "predict_proba", model.predict)

    def prepared(cores, options):
        model.set_params(n_jobs=cores)
        if args.library == "xgboost":
            model.get_booster().set_param({"nthread": cores})
        return lambda: predict(rows)

    return prepared


def overhead(args, levels, n_parts):
    """Seconds of opening and closing regions: by their parts, and the log2 of these.

    Threads of the pool that have no part in a region are not in its way.
    """
    return (args.overhead * levels + args.per_part * n_parts) * 1e-9


def overhead_of(args, places):
    """The same of regions in the code."""
    return sum(overhead(args, place["levels"], place["n_parts"]) for place in places)


def predicted(args, run):
    if run["schedules"]:
        return side_by_side.predicted(run, partial(overhead, args), args.wake * 1e-9)
    loops = sum(place["makespan"] for place in run["places"])
    serial = sum(pair["serial"] for pair in run["pairs"])
    return serial + loops + overhead_of(args, run["places"])


def read(path):
    """The file that `span_write` wrote, in seconds."""
    places, pairs = [], []
    for line in Path(path).read_text().splitlines():
        kind, *f = line.split(" ", 15)
        if kind == "place" and int(f[0]) > 0:
            body, caller, n, n_parts, n_chunks = map(int, f[1:6])
            work, makespan, largest = (float(v) * 1e-9 for v in f[7:10])
            places.append({
                "id": int(f[0]), "body": body, "caller": caller, "n": n,
                "n_parts": n_parts, "n_chunks": n_chunks, "levels": float(f[6]),
                "work": work, "makespan": makespan, "largest": largest,
                "n_alone": int(f[10]), "alone": float(f[11]) * 1e-9,
                "n_tasks": int(f[12]), "in_tasks": float(f[13]) * 1e-9, "module": f[14],
            })  # fmt: skip
        elif kind == "pair":
            pairs.append({
                "from": int(f[0]), "to": int(f[1]), "n": int(f[2]),
                "serial": float(f[3]) * 1e-9,
            })  # fmt: skip
    return places, pairs


def measure(args):
    """In the process that is measured: a line of JSON for each number of cores."""
    span = ctypes.CDLL(None)
    span.span_write.argtypes = [ctypes.c_char_p]
    # Libraries that ask for the number of cores shall use as many threads as wanted.
    os.cpu_count = lambda: max(args.cores)
    if args.library == "skgoss":
        from skgoss._engine import threads

        threads.set_runner(
            *(
                ctypes.cast(run, ctypes.c_void_p).value
                for run in (span.span_run_loop, span.span_run_tasks)
            )
        )
    recorder = side_by_side.Recorder(span) if args.task in side_by_side.TASKS else None
    if recorder is not None and args.library == "skgoss":
        recorder.attach()
    make = job(args, WORKLOADS[args.workload]())
    make(1, args.options)() if args.task in ("predict", "bin") else warm_up(args)
    layouts = LAYOUTS if args.library == "lightgbm" and args.task == "fit" else ({},)
    options = [args.options | layout for layout in layouts]
    best: dict[int, dict] = {}
    for _ in range(args.repeat):
        for cores in args.cores:
            for chosen in options:
                run = measured(span, cores, make(cores, chosen), recorder)
                run["layout"] = next(iter(chosen.keys() - args.options.keys()), "")
                if cores not in best or predicted(args, run) < predicted(
                    args, best[cores]
                ):
                    best[cores] = run
    for run in best.values():
        name_places(run["places"])
        print(json.dumps(run), flush=True)


def measured(span, cores, call, recorder):
    """Run a function once on a number of virtual cores."""
    schedules, outside = [], []
    others = time.process_time() - time.thread_time()
    span.span_start(cores)
    if recorder is None:
        call()
    else:
        recorder.begin()
        recorder.n_jobs = cores
        call()
        outside = recorder.outside + recorder.stretches()
        schedules = [s for s in recorder.schedules if s["steps"]]
    span.span_stop()
    others = time.process_time() - time.thread_time() - others
    with tempfile.NamedTemporaryFile() as file:
        span.span_write(file.name.encode())
        places, pairs = read(file.name)
    return {
        "cores": cores, "places": places, "pairs": pairs, "others": others,
        "schedules": schedules, "stretches": outside,
    }  # fmt: skip


def warm_up(args):
    """A fit of few rows, so that everything is loaded."""
    X, y, kind, _ = small()
    if kind != "ranker":
        estimator(args.library, kind, 2, 1, args.options).fit(X, y)


# ------------------------------------------------------------------ names of regions


@cache
def symbols(module):
    """Addresses and names of a module's functions, and whether these are all."""
    for options in ([], ["-D"]):
        command = ["nm", "--defined-only", "-C", *options, module]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line.split(" ", 2) for line in run.stdout.splitlines()]
        found = sorted((int(a, 16), name) for a, kind, name in lines if kind in "tTwW")
        if found:
            break
    return found, options == []


def function_of(module, symbol):
    """Of a loop of skgoss: the file and the function, if its source is at hand."""
    stem = Path(module).name.split(".")[0]
    if "skgoss" not in sys.modules:
        return None
    package = Path(sys.modules["skgoss"].__file__).parent
    source = next(package.rglob(f"{stem}.pyx"), Path(module))
    if source.suffix != ".pyx":
        return None
    return f"{stem}.pyx {symbol.rsplit(stem + '_')[-1]}"


def name_places(places):
    """Name regions by their functions, or by the exported ones they are called in."""
    for place in places:
        found, exact = symbols(place["module"])
        at = place["body"] if exact else place["caller"]
        i = bisect.bisect(found, (at, "\x7f")) - 1
        symbol = found[i][1] if i >= 0 else hex(at)
        name = function_of(place["module"], symbol)
        name = name or re.sub(r"^void |\(.*", "", symbol)[:90]
        place["name"] = name if exact else f"{name} +{at - found[i][0]:x}"


# ------------------------------------------------------------------ tables


def contributors(args, run, base):
    """Why a run is not P times as fast: the seconds lost by cause.

    Of loops that run as often in ``base``, on fewer cores, more work is lost, too.
    """
    cores = run["cores"]
    names = {place["id"]: place["name"] for place in run["places"]} | {
        0: "begin or end"
    }
    before = {(place["module"], place["body"]): place for place in base["places"]}
    rows = []
    for place in run["places"]:
        if not place["n"]:
            continue
        n, work, makespan = place["n"], place["work"], place["makespan"]
        cost = overhead_of(args, [place])
        other = before.get((place["module"], place["body"]))
        least, grown = work, ""
        if other and abs(other["n"] - n) < 0.1 * n and other["work"] < work:
            least = other["work"]
            grown = f", {work / least:.2f} times that on {base['cores']}"
        why = (
            f"{n} times, {place['n_parts'] / n:.1f} parts, work {work * 1e3:.1f} ms"
            f"{grown}, makespan {makespan * 1e3:.1f} ms: {makespan / n * 1e6:.1f} us"
            f" each, of which the largest chunk {place['largest'] / n * 1e6:.1f};"
            f" overhead {cost * 1e3:.1f} ms"
        )
        rows.append((makespan - least / cores + cost, place["name"], why))
    for pair in run["pairs"]:
        loss = pair["serial"] * (1 - 1 / cores)
        each = pair["serial"] / pair["n"] * 1e6
        why = f"serial, {pair['n']} times, {each:.1f} us each"
        rows.append((loss, f"{names[pair['from']]} -> {names[pair['to']]}", why))
    return sorted(rows, reverse=True)


def show_lost(args, runs, run):
    """Where the time of a run goes: first by kind, then by place."""
    cores, total = run["cores"], predicted(args, run)
    places = run["places"]
    serial = sum(pair["serial"] for pair in run["pairs"])
    work = sum(place["work"] for place in places)
    kinds = {
        "ideal": predicted(args, runs[0]) / cores,
        "serial": serial * (1 - 1 / cores),
        "imbalance": sum(place["makespan"] for place in places) - work / cores,
        "more work": (work + serial - predicted(args, runs[0])) / cores,
        "overhead": overhead_of(args, places),
    }
    shares = ", ".join(f"{name} {value / total:.1%}" for name, value in kinds.items())
    print(f"{cores} cores, {total * 1e3:.1f} ms: {shares}. Lost, ms:")
    base = runs[1] if len(runs) > 1 else run
    for loss, name, why in contributors(args, run, base)[: args.top]:
        print(f"{loss * 1e3:9.2f} {loss / total:6.1%}  {name}\n{'':18}{why}")
    for place in sorted(places, key=lambda p: -p["in_tasks"])[: args.top]:
        if place["in_tasks"] > 0.005 * total:
            print(
                f"    (in regions of tasks: {place['in_tasks'] * 1e3:.2f} ms in "
                f"{place['n_tasks']} tasks of {place['name']})"
            )
    for place in sorted(places, key=lambda p: -p["alone"])[: args.top]:
        if place["alone"] > 0.005 * total:
            print(
                f"    (in serial time: {place['alone'] * 1e3:.2f} ms in "
                f"{place['n_alone']} loops of one part in {place['name']})"
            )


def show(args, library, runs):
    title = f"{library}, {args.task} {args.workload}"
    print(f"\n{title}{f', {args.rounds} rounds' if args.task != 'bin' else ''}")
    print(
        " cores       T s  speed-up   serial s    loops s  overhead s   work s  regions"
    )
    alone = predicted(args, runs[0])
    for run in runs:
        places, cores = run["places"], run["cores"]
        n = sum(place["n"] for place in places)
        columns = (
            f"{cores:6d}",
            f"{predicted(args, run):9.4f}",
            f"{alone / predicted(args, run):9.2f}",
            f"{sum(pair['serial'] for pair in run['pairs']):10.4f}",
            f"{sum(place['makespan'] for place in places):10.4f}",
            f"{overhead_of(args, places):11.4f}",
            f"{sum(place['work'] for place in places):8.4f}",
            f"{n:8d} ",
            run["layout"],
        )
        print(*columns)
        if run["schedules"]:
            print(f"       {side_by_side.locked(run)}")
        if run["others"] > 0.05 * alone:
            print(f"       and {run['others']:.2f} s on threads that are not measured")
    for run in runs:
        if args.top and run["cores"] == args.at:
            show_lost(args, runs, run)


def real(args):
    """Measure real threads: seconds on one thread and on more."""
    make = job(args, WORKLOADS[args.workload]())
    make(1, args.options)() if args.task in ("predict", "bin") else warm_up(args)
    seconds = {}
    for cores in [1, args.real] * max(args.repeat, 2):
        call = make(cores, args.options)
        start = time.perf_counter()
        call()
        seconds[cores] = min(seconds.get(cores, math.inf), time.perf_counter() - start)
    one, more = seconds[1], seconds[args.real]
    if args.json:
        add_record(args, args.library, real=sorted(seconds.items()))
    print(
        f"{args.library}, {args.task} {args.workload}, real threads: 1: {one:.4f} s, "
        f"{args.real}: {more:.4f} s, speed-up {one / more:.2f}",
        flush=True,
    )


def compile_span():
    source, library = HERE / "many_cores.c", HERE / "many_cores.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        flags = [
            "-O2",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-ftls-model=initial-exec",
        ]
        subprocess.run(["cc", *flags, "-o", library, source, "-lm"], check=True)
    return str(library)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", help=f"of {', '.join(LIBRARIES)}, with commas")
    parser.add_argument("workload", choices=WORKLOADS)
    tasks = "fit", "predict", "bin", *side_by_side.TASKS
    parser.add_argument("--task", choices=tasks, default="fit")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument(
        "--cores", default="1,2,4,8,16,32,64", help="numbers of virtual cores"
    )
    parser.add_argument(
        "--top", type=int, default=0, help="number of contributors to list"
    )
    parser.add_argument(
        "--at", type=int, default=16, help="number of cores for the list"
    )
    parser.add_argument(
        "--overhead",
        type=float,
        default=1000.0,
        help="ns of opening and closing a region, times log2(its parts)",
    )
    parser.add_argument(
        "--per-part", type=float, default=0.0, help="and ns for each part"
    )
    parser.add_argument(
        "--wake",
        type=float,
        default=5000.0,
        help="ns until a thread goes on that has waited for the interpreter's lock",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        help="number of alternating runs, of which the best is kept",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="an option of the estimator, in JSON",
    )
    parser.add_argument(
        "--json", type=Path, help="add everything measured to this file"
    )
    parser.add_argument("--figure", type=Path, help="draw what that file has")
    parser.add_argument(
        "--real",
        type=int,
        default=0,
        metavar="THREADS",
        help="measure this number of real threads instead",
    )
    parser.add_argument("--library", help=argparse.SUPPRESS)  # in a process for each
    args = parser.parse_args()
    args.cores = sorted({1, *map(int, args.cores.split(","))})
    pairs = (option.split("=", 1) for option in args.set)
    args.options = {name: json.loads(value) for name, value in pairs}
    return args


def add_record(args, library, **measured):
    """Add what was measured of a library to the file, as a line of JSON."""
    of = ("workload", "task", "rounds", "options")
    record = (
        {"library": library} | {name: getattr(args, name) for name in of} | measured
    )
    with args.json.open("a") as out:
        out.write(json.dumps(record) + "\n")


def draw(args):
    """Draw seconds against cores: a panel for each workload.

    Lines are predicted, crosses measured with real threads.
    """
    import matplotlib
    from matplotlib.figure import Figure

    lines, real = {}, {}
    for line in args.json.read_text().splitlines():
        record = json.loads(line)
        if "real" in record:
            of_workload = real.setdefault(record["workload"], {})
            of_workload[record["library"]] = record["real"]
            continue
        points = [(run["cores"], predicted(args, run)) for run in record["runs"]]
        lines.setdefault(record["workload"], {})[record["library"]] = points
    style = {"svg.fonttype": "none", "svg.hashsalt": "skgoss", "font.size": 10}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.4, 3.2), layout="constrained")
        axes = figure.subplots(1, len(lines), squeeze=False)[0]
        for ax, (workload, of_libraries) in zip(axes, lines.items(), strict=True):
            draw_panel(ax, of_libraries, real.get(workload, {}))
            ax.set_title(WORKLOADS[workload].__doc__.rstrip("."), fontsize=11)
        axes[0].set_ylabel("seconds of the fit")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.savefig(args.figure, metadata={"Date": None, "Creator": None})


def draw_panel(ax, of_libraries, real):
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set(xscale="log", yscale="log", xlabel="cores")
    ax.set_xticks([1, 2, 4, 8, 16, 32, 64])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    colors = dict(zip(LIBRARIES, COLORS, strict=True))
    for library, points in real.items():
        ax.plot(*zip(*points, strict=True), "x", color=colors[library], markersize=9)
    for library, points in of_libraries.items():
        ax.plot(
            *zip(*points, strict=True),
            marker="o",
            linewidth=2.5 if library == "skgoss" else 1.3,
            color=colors[library],
            label=library,
        )


def main():
    warnings.simplefilter("ignore")
    args = parsed()
    if args.figure:
        draw(args)
        return
    if args.library:
        real(args) if args.real else measure(args)
        return
    results = {}
    for library in args.libraries.split(","):
        environ = os.environ | {
            "OMP_NUM_THREADS": str(args.real or max(args.cores)),
            "OPENBLAS_NUM_THREADS": "1",
        }
        if not args.real:
            environ["LD_PRELOAD"] = compile_span()
        command = [sys.executable, __file__, *sys.argv[1:], "--library", library]
        process = subprocess.run(
            command, env=environ, stdout=subprocess.PIPE, text=True, check=False
        )
        if process.returncode:
            sys.exit(process.returncode)
        if args.real:
            print(process.stdout, end="")
            continue
        runs = results[library] = [
            json.loads(line) for line in process.stdout.splitlines()
        ]
        show(args, library, runs)
        if args.json:
            add_record(args, library, runs=runs)
    if len(results) > 1:
        first, *others = results
        print(f"\npredicted time divided by that of {first}")
        for library in others:
            ratios = (
                f"{a['cores']}: {predicted(args, b) / predicted(args, a):.2f}"
                for a, b in zip(results[first], results[library], strict=True)
            )
            print(f"{library:>9} on " + "  ".join(ratios))


if __name__ == "__main__":
    main()
