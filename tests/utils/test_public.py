"""What pickles, files and messages call public classes and functions."""

from __future__ import annotations

import importlib
import inspect
import io
import pickle

import numpy as np
import pytest

import skgoss
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)
from skgoss.model_selection import GridSearchCV
from skgoss.utils import messages

PUBLIC_MODULES = ("skgoss", "skgoss.callback", "skgoss.dask", "skgoss.model_selection")


class Reader(pickle.Unpickler):
    """Collects the names that a pickle imports from skgoss."""

    def __init__(self, text: bytes) -> None:
        super().__init__(io.BytesIO(text))
        self.names: set[str] = set()

    def find_class(self, module_name: str, global_name: str) -> object:
        if module_name.partition(".")[0] == "skgoss":
            self.names.add(f"{module_name}.{global_name}")
        return super().find_class(module_name, global_name)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_public_names_say_where_they_are_imported_from(module):
    if module == "skgoss.dask":
        pytest.importorskip("distributed")
    found = importlib.import_module(module)
    homes = {name: getattr(found, name).__module__ for name in found.__all__}
    assert {n for n, home in homes.items() if home not in {module, "skgoss"}} == set()
    if module != "skgoss.callback":
        assert set(homes.values()) == {module}


def fitted() -> LGBMRegressor:
    X = np.arange(60.0).reshape(-1, 1)
    return LGBMRegressor(n_estimators=2, n_jobs=1).fit(X, X[:, 0])


PICKLED = {
    "an estimator": (fitted, "skgoss.LGBMRegressor"),
    "a Booster": (lambda: fitted().booster_, "skgoss.Booster"),
    "a class": (lambda: LGBMClassifier, "skgoss.LGBMClassifier"),
    "a function": (lambda: skgoss.train, "skgoss.train"),
    "a lazy function": (lambda: skgoss.plot_tree, "skgoss.plot_tree"),
    "a scorer": (lambda: skgoss.ndcg_scorer(k=3), "skgoss.ndcg_scorer"),
    "a result": (lambda: skgoss.EvalResult("a", "b", 1.0, False), "skgoss.EvalResult"),
    "a search": (
        lambda: GridSearchCV(LGBMRanker(), {}, scoring=skgoss.ndcg_scorer()),
        "skgoss.LGBMRanker skgoss.model_selection.GridSearchCV skgoss.ndcg_scorer",
    ),
}


@pytest.mark.parametrize("what", PICKLED)
def test_pickles_name_what_users_import(what):
    make, names = PICKLED[what]
    reader = Reader(pickle.dumps(make()))
    reader.load()
    assert sorted(reader.names) == names.split()


def test_a_pickled_scorer_asks_for_the_same():
    scorer = skgoss.ndcg_scorer(k=3).set_score_request(group=True)
    again = pickle.loads(pickle.dumps(scorer))
    assert vars(again) == vars(scorer)


# Where the classes were when files were written that are still to be read.
FORMER = {
    "skgoss.booster": Booster,
    "skgoss.booster.booster": Booster,
    "skgoss.dataset": Dataset,
    "skgoss.dataset.dataset": Dataset,
    "skgoss.estimators": LGBMRegressor,
    "skgoss.estimators.base": LGBMModel,
    "skgoss.estimators.classifier": LGBMClassifier,
    "skgoss.estimators.ranker": LGBMRanker,
    "skgoss.estimators.regressor": LGBMRegressor,
}


@pytest.mark.parametrize("module", FORMER)
def test_pickles_of_former_names_are_read(module):
    kind = FORMER[module]
    assert pickle.loads(f"c{module}\n{kind.__name__}\n.".encode()) is kind


def test_messages_name_what_users_import():
    assert messages.type_name(LGBMRegressor()) == "skgoss.LGBMRegressor"
    with pytest.raises(TypeError, match=r"got skgoss\.Dataset"):
        skgoss.plot_importance(Dataset(np.eye(3)))


def test_public_modules_offer_public_names_only():
    names = ["model_selection", "plotting", "preprocessing", "callback", "compat"]
    for name in [*names, "engine", "basic", "sklearn"]:
        module = importlib.import_module(f"skgoss.{name}")
        assert dir(module) == sorted(module.__all__)
    modules = {name for name in dir(skgoss) if inspect.ismodule(getattr(skgoss, name))}
    assert modules == {*names, "engine", "basic", "sklearn"}
    assert {*dir(skgoss)} - modules == {*skgoss.__all__, "__version__"}
