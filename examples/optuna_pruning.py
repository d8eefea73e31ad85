"""Search with Optuna
==================

Let Optuna propose parameters, and prune weak trials after a few rounds.

To run it: ``pip install skgoss optuna matplotlib``.
"""

# %%
# One data set for all trials
# ---------------------------
#
# The rows are binned once. All trials that have the same options for bins can use one
# ``Dataset``.
import matplotlib.pyplot as plt
import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import skgoss

X, y = load_digits(return_X_y=True)
X, X_valid, y, y_valid = train_test_split(X, y, stratify=y, random_state=0)
data = skgoss.Dataset(X, y)
valid = data.create_valid(X_valid, y_valid)

# %%
# Pruning
# -------
#
# A callback reports the loss after every fifth round. The pruner ends a trial whose
# loss is above the median of the trials before it, after as many rounds.
curves = {}


def prune(trial):
    """Return a callback that reports to a trial, and ends it if it is pruned."""

    def after_round(env):
        if (env.iteration + 1) % 5 == 0:
            loss = env.evaluation_result_list[0].metric_value
            curves.setdefault(trial.number, {})[env.iteration + 1] = loss
            trial.report(loss, env.iteration + 1)
            if trial.should_prune():
                raise optuna.TrialPruned

    return after_round


def objective(trial):
    """Return the log loss of the parameters that a trial proposes."""
    params = {
        "objective": "multiclass",
        "num_class": 10,
        "verbose": -1,
        "num_leaves": trial.suggest_int("num_leaves", 3, 31, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.2, 1),
    }
    calls = [prune(trial)]
    model = skgoss.train(params, data, 60, valid_sets=[valid], callbacks=calls)
    return model.best_score["valid_0"]["multi_logloss"]


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
)
study.optimize(objective, n_trials=20)

# %%
# Rounds saved
# ------------
n_rounds = sum(max(curve) for curve in curves.values())
n_pruned = sum(trial.state.name == "PRUNED" for trial in study.trials)
print(f"{n_pruned} of 20 trials were pruned: {n_rounds} of {20 * 60} rounds")
print(f"log loss: {study.best_value:.3f}")
for name, value in study.best_params.items():
    print(f"{name}: {value:.2g}")

# %%
# The trials that ran to the end, and those that did not (gray):
_, ax = plt.subplots(layout="constrained")
for number, curve in curves.items():
    is_whole = max(curve) == 60
    color = f"C{number % 10}" if is_whole else "lightgray"
    ax.plot(list(curve), list(curve.values()), ".-", color=color)
ax.set(xlabel="rounds", ylabel="log loss, validation rows", yscale="log")
plt.show()
