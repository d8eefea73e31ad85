"""The search space of skgoss in TabArena; the defaults are the first configuration."""

from __future__ import annotations

from autogluon.common.space import Categorical, Int, Real
from model import SkgossModel
from tabarena.utils.config_utils import ConfigGenerator

SEARCH_SPACE = {
    "learning_rate": Real(0.01, 0.1, log=True),
    "num_leaves": Int(4, 255, log=True),
    "min_child_samples": Int(1, 100, log=True),
    "colsample_bytree": Real(0.3, 1.0),
    "subsample": Real(0.6, 1.0),
    "subsample_freq": Categorical(1),
    "reg_lambda": Real(1e-3, 10.0, log=True),
    "extra_trees": Categorical(False, True),
    "linear_tree": Categorical(False, False, True),
    "cat_smooth": Real(1.0, 100.0, log=True),
    "cat_l2": Real(1.0, 100.0, log=True),
    "max_bin": Categorical(127, 255, 511),
}

gen_skgoss = ConfigGenerator(
    model_cls=SkgossModel, search_space=SEARCH_SPACE, manual_configs=[{}]
)
