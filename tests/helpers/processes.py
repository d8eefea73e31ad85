"""Scripts in processes of their own, which begin with large packages imported.

Their environment is that of the first of their thread.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import NamedTuple

# It imports packages once, and forks for each line, which names a folder, a script and
# its arguments. The answer is the status of the script's end.
SERVER = """
import contextlib, faulthandler, os, runpy, sys
import skgoss.model_selection, skgoss.training.boosting
with contextlib.suppress(ImportError):
    import matplotlib.pyplot, pandas
for line in sys.stdin:
    folder, *sys.argv = line.rstrip().split("\\t")
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    os.chdir(folder)
    for number, name in enumerate((os.devnull, "stdout", "stderr")):
        os.dup2(os.open(name, os.O_CREAT | os.O_RDWR), number)
    faulthandler.dump_traceback_later(300, exit=True)
    runpy.run_path(sys.argv[0], run_name="__main__")
    break
"""


class Done(NamedTuple):
    """What a process leaves."""

    returncode: int
    stdout: str
    stderr: str


def new_python(*arguments: str, **environment: str) -> str:
    """A script that starts a new Python, which has imported nothing."""
    return f"""
import os, subprocess, sys
command = [sys.executable, *{arguments!r}]
raise SystemExit(subprocess.run(command, env=os.environ | {environment!r}).returncode)
"""


@cache
def server(thread: int) -> subprocess.Popen[str]:
    """The process that forks for a thread, which ends with this one."""
    found = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(found.communicate)
    return found


def run(script: Path | str, *arguments: str, folder: Path) -> Done:
    """Run a script, or the text of one, in a folder, as ``python script`` would."""
    if isinstance(script, str):
        text, script = script, folder / "script.py"
        script.write_text(text)
    if sys.platform != "linux":  # elsewhere fork is absent or unsafe
        command = [sys.executable, script, *arguments]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)
    forks = server(threading.get_ident())
    forks.stdin.write("\t".join([str(folder), str(script), *arguments]) + "\n")
    forks.stdin.flush()
    status = int(forks.stdout.readline())
    printed = [(folder / name).read_text() for name in ("stdout", "stderr")]
    return Done(status, *printed)
