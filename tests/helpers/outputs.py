"""Options of fits of several outputs, whose trees are those of separate fits."""

KINDS = {
    "plain": {},
    "bagging": {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.5},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "dart": {"boosting_type": "dart", "skip_drop": 0.2},
    "forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
}
