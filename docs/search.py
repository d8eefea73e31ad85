"""Search the website that was built: `python docs/search.py [QUERY ...]`.

Each query of `FIRST` must find its page first. Sphinx's own script searches, in node.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BUILT = Path(__file__).parent / "_build"

# What users search for, and the page that must come first: a regular expression.
FIRST = {
    "learning_rate": "parameters",
    "monotone_constraints": "parameters|examples/monotone_constraints",
    "n_estimators": "parameters",
    "churn": "survival|examples/survival",
    "datetime": "questions",
    "threshold": "production|scikit-learn",
    "reproducible": "scikit-learn",
    "progress bar": "evaluation",
    "unseen category": "categories|questions",
    "ColumnTransformer": "scikit-learn",
    "early stopping": "evaluation|examples/early_stopping",
    "missing values": "scikit-learn|questions",
    "imbalanced": "questions|scikit-learn",
    "cross-validation": "cv",
    "overfit": "questions",
    "feature importance": "explain",
    "prediction intervals": "intervals",
    "save model": "models",
    "GPU": "install|questions",
    "optuna": "tuning|tools",
}

# The pages of the results, the best first; what the script needs of a browser.
SCRIPT = """
const fs = require("fs"), vm = require("vm"), folder = process.argv[1];
const element = () => ({ removeChild() {}, lastChild: null });
const scope = vm.createContext({
  console, URLSearchParams, SPHINX_HIGHLIGHT_ENABLED: false, _ready() {}, window: {},
  document: { documentElement: { dataset: {} }, getElementById: element },
});
const files = ["_static/scorer.js", "_static/documentation_options.js",
  "_static/language_data.js", "_static/searchtools.js", "searchindex.js"];
const text = files.filter((f) => fs.existsSync(`${folder}/${f}`))
  .map((f) => fs.readFileSync(`${folder}/${f}`, "utf8"));
vm.runInContext(text.join("\\n;\\n") + "\\n;this.find = (query) => Search" +
  "._performSearch(...Search._parseQuery(query)).reverse()" +
  ".map(([page, title, anchor]) => page + anchor);", scope);
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(queries.map((query) => scope.find(query))));
"""


def found(queries: list[str], built: Path = BUILT) -> list[list[str]]:
    """The pages that each query finds, the best first."""
    done = subprocess.run(
        ["node", "-e", SCRIPT, built],
        input=json.dumps(queries),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def main() -> int:
    """Print what queries find; 1 if a query of `FIRST` finds another page first."""
    import re

    queries = sys.argv[1:] or [*FIRST]
    n_wrong = 0
    for query, pages in zip(queries, found(queries), strict=True):
        expected = FIRST.get(query, ".*")
        is_right = re.fullmatch(f"({expected})(#.*)?", pages[0] if pages else "")
        n_wrong += not is_right
        print(f"{query}: {', '.join(pages[:3])}", "" if is_right else "WRONG")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
