"""Workers are forked from one process, which has imported what they need."""

import multiprocessing
import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _forked_workers():
    """Clusters import nothing again, nor do workers that are started again."""
    dask = pytest.importorskip("dask")
    utils = pytest.importorskip("distributed.utils")
    if os.name == "nt":  # which has no fork
        yield
        return
    # Processes that wait need not watch themselves.
    options = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "10s",
    }
    with dask.config.set(options):
        utils.get_mp_context()  # sets packages to import, to which ours are added
        multiprocessing.set_forkserver_preload(
            ["pytest", "distributed", "dask.dataframe", "skgoss.dask"]
        )
        yield
