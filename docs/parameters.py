"""Write docs/parameters.md from the table of options."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from skgoss.fit.unused_options import needs
from skgoss.parameters.domains import Option
from skgoss.parameters.other_libraries import WITHOUT_EFFECT
from skgoss.parameters.table import GROUPS
from skgoss.utils.public import SITE

PAGE = """# Parameters: names, defaults, values and aliases

These are the parameters of LGBMClassifier, LGBMRegressor, LGBMRanker, `train` and `cv`.
The constructor, `set_params` and search grids accept all names of a parameter.
`get_params` uses the name in the heading. LightGBM's main name is in italics.

If you pass different values under several names of a parameter, `set_params` raises a
ValueError. The constructor issues an `UnusedParameterWarning` and uses the value passed
under LightGBM's main name or, without it, under the shortest name. There are two
exceptions: for `n_jobs`, the smallest number of threads is used; for `n_estimators` and
`objective`, aliases take priority over these names.

A single `UnusedParameterWarning` lists all changed parameters that have no effect, such
as `subsample` without `subsample_freq`, and states what they need.

<!-- `python docs/parameters.py` writes this page. -->

{contents}
{options}
## Accepted, without effect

These LightGBM parameters are accepted but have no effect; `get_params` does not return
them. Unknown names have no effect either, but they raise an `UnusedParameterWarning`,
and `get_params` returns them.

{without_effect}"""


def markdown() -> str:
    """The page."""
    return PAGE.format(
        contents="".join(map(item, GROUPS)),
        options="".join(
            f"## {topic}\n\n{''.join(map(section, options))}"
            for topic, options in GROUPS.items()
        ),
        without_effect="".join(
            wrapped(f"- {cells(names)}: {reason}")
            for reason, names in WITHOUT_EFFECT.items()
        ),
    )


def item(topic: str) -> str:
    """A topic in the list of contents, with its parameters."""
    names = (option.name for option in GROUPS[topic])
    links = ", ".join(f"[`{name}`](#{name})" for name in names)
    return wrapped(f"- **{topic}**: {links}")


def section(option: Option) -> str:
    """The description of a parameter, below a heading that links lead to."""
    facts = [
        f"Default: `{option.default!r}`. Values: {option.domain.description}.",
        *names_of(option),
    ]
    if needed := "; ".join(needs(option.name)):
        facts.append(f"Needs: {needed}.")
    if option.advice:
        facts.append(f"When to change it: {plain(option.advice)}")
    return (
        f"### `{option.name}`\n\n{wrapped(plain(option.meaning))}\n"
        + "".join(wrapped(f"- {fact}") for fact in facts)
        + "\n"
    )


def names_of(option: Option) -> Iterator[str]:
    """The other names of a parameter, if it has any."""
    if option.aliases:
        listed = (
            f"*`{n}`*" if n == option.lightgbm else f"`{n}`" for n in option.aliases
        )
        yield f"Other names: {', '.join(listed)}."


def cells(names: Iterable[str]) -> str:
    """Names as code."""
    return ", ".join(f"`{name}`" for name in names)


def plain(text: str) -> str:
    """A text of docstrings in the form of pages, with links to other pages."""
    text = " ".join(text.split()).replace("``", "`")
    return re.sub(rf"{SITE}([\w-]+)\.html", r"[\1.md](\1.md)", text)


def wrapped(text: str) -> str:
    """A paragraph or an item of a list in lines."""
    indent = "  " * text.startswith("- ")
    lines = textwrap.wrap(
        text,
        100,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(markdown(), encoding="utf-8")
