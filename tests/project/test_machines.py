"""Models are identical on every machine: what could differ is on a list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import skgoss

PACKAGE = Path(skgoss.__file__).parent


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions that are rounded differently by processors, C libraries or compilers, and
# products, whose terms are added in an order that depends on the processor. Square
# roots and the four operations are exact, and sums of NumPy have a fixed order.
ROUNDED = words(
    """
    acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
    atan2 atanh cbrt cos cosh dist erf erfc exp exp2 expm1 float_power gamma geomspace
    hypot lgamma log log10 log1p log2 logaddexp logaddexp2 logspace pow power sin sinc
    sinh tan tanh tgamma
    """
)
PRODUCTS = words(
    """
    convolve corrcoef correlate cov dot einsum fft inner linalg matmul matvec
    polyfit tensordot vdot vecdot vecmat
    """
)
# Draws that NumPy computes by such functions.
DRAWS = words("exponential lognormal normal standard_normal uniform")
# Modules of other packages that compute such functions.
MODULES = ("scipy.", "sklearn.metrics")
EXACT_MODULES = ("scipy.sparse",)

# Where they are called nevertheless, and why no model depends on it. What models keep,
# and what chooses it, is computed by `_engine/elementary.h`, `function_kernels` and
# `exact_sum` of the engine, and by `utils/correct_rounding.py`.
PREDICTS = "a prediction, which models do not keep"
SCORES = "a score of a fitted model"
CRPS = "a prediction, or the metric 'crps': docs/guarantees.md names it"
WHOLE = "whole numbers"
LAYOUT = "how bins lie in memory, which changes no model"
DISTINCT = "no two values are equal"
ALLOWED = {
    "binning/storage.py": {"log": LAYOUT, "**": LAYOUT},
    "columns/targets.py": {"argsort": DISTINCT},
    "estimators/classifier.py": {"sklearn.metrics.accuracy_score": SCORES},
    "fit/class_rates.py": {"log": "a warning, which changes no model"},
    "estimators/regressor.py": {
        "sklearn.metrics.mean_pinball_loss": SCORES,
        "sklearn.metrics.r2_score": SCORES,
        "exp": SCORES,
        "scipy.special.expit": SCORES,
    },
    "objectives/metric_names.py": {
        "sklearn.metrics.get_scorer_names": "names in messages"
    },
    "model_selection/scoring.py": dict.fromkeys(
        ("sklearn.metrics.get_scorer", "sklearn.metrics.get_scorer_names"),
        "names in messages",
    ),
    "objectives/scorers.py": dict.fromkeys(
        ("sklearn.metrics.get_scorer", "sklearn.metrics.get_scorer_names"),
        "the user's metric, in scikit-learn",
    ),
    "utils/sklearn_private.py": {
        "sklearn.metrics.get_scorer_names": "names in messages"
    },
    # It computes with single numbers, in plain Python.
    "several_fits/blending.py": {"scipy.optimize.minimize_scalar": "single numbers"},
    "several_fits/race.py": {"**": WHOLE, "scipy.stats.t": "rounded to fewer digits"},
    "fit/memory.py": {"**": "how many bytes a fit needs"},
    "model/intervals.py": dict.fromkeys(("**", "@", "einsum", "exp"), PREDICTS),
    "model/predictor_tables.py": {"argsort": "equal values get one number"},
    "model_selection/shared_search.py": {"argsort": DISTINCT},
    "objectives/distributions.py": {
        "exp": CRPS,
        "scipy.special.erf": CRPS,
        "scipy.stats": CRPS,
    },
    "plotting/tree_labels.py": {"**": "text"},
    "training/schedule.py": {"**": "how many threads a fit gets"},
    "utils/correct_rounding.py": {"**": WHOLE},
}


def names_of(node: ast.AST) -> Iterator[str]:
    """What a node of a module uses of these, by name."""
    match node:
        case ast.Import(names=aliases):
            yield from modules(alias.name for alias in aliases)
        case ast.ImportFrom(module="math", names=aliases):
            yield from (alias.name for alias in aliases if alias.name in ROUNDED)
        case ast.ImportFrom(module=str(module), names=aliases):
            yield from modules(f"{module}.{alias.name}" for alias in aliases)
        case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
            yield from {name} & (ROUNDED | PRODUCTS)
        case ast.Call(func=ast.Attribute(attr=name), keywords=keywords):
            yield from {name} & (DRAWS | {"dot", "argpartition"})
            if name == "argsort" and not is_stable(keywords):
                yield name
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            yield "@"
        case (
            ast.BinOp(op=ast.Pow(), right=exponent)
            | ast.AugAssign(op=ast.Pow(), value=exponent)
        ) if not isinstance(exponent, ast.Constant):
            yield "**"


def modules(names: Iterator[str]) -> Iterator[str]:
    for name in names:
        if name.startswith(MODULES) and not name.startswith(EXACT_MODULES):
            yield name


def is_stable(keywords: list[ast.keyword]) -> bool:
    return any(
        k.arg == "kind" and getattr(k.value, "value", "") == "stable" for k in keywords
    )


COMMENTS = re.compile(r'/\*.*?\*/|//[^\n]*|#(?!define)[^\n]*|""".*?"""', re.DOTALL)
# Functions of C and NumPy; those of the engine have longer names.
CALLS = re.compile(
    rf"(?<!def )(?<![\w.>])(?:np\.)?({'|'.join(sorted(ROUNDED | PRODUCTS))})\s*\("
)
IMPORTS = re.compile(r"^from libc\.math cimport (.*)$", re.MULTILINE)


def used() -> set[tuple[str, str]]:
    """The files of the package, and what each uses of these."""
    found = set()
    for path in PACKAGE.rglob("*.*"):
        file, text = path.relative_to(PACKAGE).as_posix(), ""
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found |= {(file, name) for name in names_of(node)}
        elif path.suffix in (".pyx", ".pxd", ".h", ".c"):
            text = COMMENTS.sub("", path.read_text(encoding="utf-8"))
        found |= {(file, name) for name in CALLS.findall(text)}
        for line in IMPORTS.findall(text):
            found |= {(file, name) for name in re.findall(r"\w+", line)} & {
                (file, name) for name in ROUNDED
            }
    return found


def test_models_keep_nothing_that_machines_round_differently():
    # A new place: use a function of our own, or say here why no model depends on it.
    allowed = {(file, name) for file, names in ALLOWED.items() for name in names}
    assert used() == allowed


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("y = np.exp(x) + np.sqrt(x) + x.sum()", ["exp"]),
        ("apply(np.log1p)", ["log1p"]),
        ("y = math.tanh(x)", ["tanh"]),
        ("from math import isnan, lgamma", ["lgamma"]),
        ("from scipy.special import psi", ["scipy.special.psi"]),
        ("from scipy import optimize, sparse", ["scipy.optimize"]),
        ("import scipy.stats as st", ["scipy.stats"]),
        ("y = np.linalg.solve(a, b) + a @ b", ["@", "linalg"]),
        ("y @= a.dot(b)", ["@", "dot"]),
        ("y = x**2 + x**n", ["**"]),
        ("y **= n", ["**"]),
        ("np.argsort(a); a.argsort(kind='stable')", ["argsort"]),
        ("draw = generator.uniform(0, 1)", ["uniform"]),
        ("y = np.log(x)  # noqa", ["log"]),
    ],
)
def test_such_a_use_is_found(line, names):
    nodes = ast.walk(ast.parse(line))
    assert sorted(name for node in nodes for name in names_of(node)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y = exp(x) + sqrt(x) + fabs(x); // log(x)", ["exp"]),
        ("/* pow(2, k) */ y = ldexp(1.0, k) * pow(2, k);", ["pow"]),
        ("#define TWICE(x) log2(x)", ["log2"]),
        ("y = np.log(x)  # exp(x)", ["log"]),
        ("def exp(values): return exp_of_each(values)", []),
    ],
)
def test_such_a_call_in_the_engine_is_found(text, names):
    assert CALLS.findall(COMMENTS.sub("", text)) == names
