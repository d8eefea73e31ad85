"""Write docs/parameters.md from the table of options."""

from pathlib import Path

from skgoss.parameters.table import OPTIONS, WITHOUT_EFFECT, Option

# The parameters that matter most: what to know before their description.
FIRST = {
    "objective": "what a model predicts: means, quantiles, counts, ...: see"
    " [objectives.md](objectives.md)",
    "preset": "'accurate': better predictions with one argument:"
    " [accuracy.md](accuracy.md)",
    "n_estimators": "the number of rounds. Early stopping finds a good one",
    "early_stopping_round": "ends a fit when held-out rows are no longer predicted"
    " better: [evaluation.md](evaluation.md#early-stopping)",
    "learning_rate": "the size of a step. Halving it needs about twice as many rounds,"
    " and is often a little better",
    "num_leaves": "the size of a tree. The first to tune: [tuning.md](tuning.md)",
    "min_child_samples": "the rows of the smallest leaf. Lower it if there are fewer"
    " than 1,000 rows",
    "colsample_bytree": "the fraction of the columns that a tree may use. 0.5 makes"
    " trees differ, and fits faster",
    "subsample": "the fraction of the rows for a tree. **No effect unless"
    " `subsample_freq` is 1 or more**",
    "reg_lambda": "L2 penalty on leaf values; shrinks small leaves",
    "categorical_feature": "for arrays, and for codes in data frames. Strings need"
    " nothing: [categories.md](categories.md)",
    "n_jobs": "the number of threads. It never changes the model",
}

PAGE = """# Parameters: names, defaults, values and aliases

Every parameter with its default, its values, its meaning and its other names.

## The twelve that matter

| parameter | default | what to know |
|---|---|---|
{first}
## All parameters

These are the parameters of LGBMClassifier, LGBMRegressor, LGBMRanker, `train` and `cv`.
The constructor, `set_params` and the grids of searches accept all names of a parameter.
`get_params` returns the name in the first column. LightGBM's main name is in italics.

If several names of one parameter have different values, `set_params` raises a
ValueError. The constructor gives an `UnusedParameterWarning` and uses LightGBM's main
name, or else the shortest name. There are two exceptions: for `n_jobs`, the smallest
number of threads is used; for `n_estimators` and `objective`, an alias has priority
over these names.

A parameter that is changed but has no effect beside the others, such as `subsample`
without `subsample_freq`, or `alpha` with an objective that does not read it, gives an
`UnusedParameterWarning` that says what it needs. There is one warning for all of them.

<!-- `python docs/parameters.py` writes this page. -->

| parameter | default | values | meaning | aliases |
|---|---|---|---|---|
{options}
## Accepted, without effect

These parameters of LightGBM are accepted and have no effect; `get_params` does not
return them. Unknown names have no effect either. They give an `UnusedParameterWarning`,
and `get_params` returns them.

| names | reason |
|---|---|
{without_effect}"""


def markdown() -> str:
    without_effect = (
        f"| {', '.join(f'`{name}`' for name in names)} | {reason} |\n"
        for reason, names in WITHOUT_EFFECT.items()
    )
    by_name = {option.name: option for option in OPTIONS}
    return PAGE.format(
        first="".join(
            f"| `{name}` | `{by_name[name].default!r}` | {note} |\n"
            for name, note in FIRST.items()
        ),
        options="".join(map(row, OPTIONS)),
        without_effect="".join(without_effect),
    )


def row(option: Option) -> str:
    cells = (
        f"`{option.name}`",
        f"`{option.default!r}`",
        option.domain.description,
        " ".join(option.meaning.split()).replace("``", "`"),
        ", ".join(
            f"*{alias}*" if alias == option.lightgbm else alias
            for alias in option.aliases
        ),
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(markdown(), encoding="utf-8")
