"""Write docs/parameters.md from the table of options."""

from pathlib import Path

from skgoss.parameters.table import OPTIONS, WITHOUT_EFFECT, Option

PAGE = """# Parameters: names, defaults, values and aliases

These are the parameters of LGBMClassifier, LGBMRegressor, LGBMRanker, `train` and `cv`.
The constructor, `set_params` and the grids of searches accept all names of a parameter.
`get_params` returns the name in the first column. LightGBM's main name is in italics.

If several names of one parameter have different values, `set_params` raises a
ValueError. The constructor gives an `UnusedParameterWarning` and uses LightGBM's main
name, or else the shortest name. There are two exceptions: for `n_jobs`, the smallest
number of threads is used; for `n_estimators` and `objective`, an alias has priority
over these names.

`python docs/parameters.py` writes this page.

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
    return PAGE.format(
        options="".join(map(row, OPTIONS)), without_effect="".join(without_effect)
    )


def row(option: Option) -> str:
    cells = (
        f"`{option.name}`",
        f"`{option.default!r}`",
        option.domain.description,
        option.meaning.replace("``", "`"),
        ", ".join(
            f"*{alias}*" if alias == option.lightgbm else alias
            for alias in option.aliases
        ),
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(markdown(), encoding="utf-8")
