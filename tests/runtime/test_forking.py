# SPDX-License-Identifier: Apache-2.0
"""Forks while other threads have locks, and make some."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def run(program: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)


def test_a_fork_waits_for_locks_that_are_made_meanwhile() -> None:
    """What guards computations is made with each transformer."""
    run("""
import os, signal, sys, threading
from ngraph_rewrite.runtime.forking import COMPUTING, fork_lock

over, latest = threading.Event(), [fork_lock(COMPUTING)]

def make():
    while not over.is_set():
        latest[:] = [fork_lock(COMPUTING) for _ in range(100)]
        for lock in latest:
            with lock:
                pass

def fail(problem):
    print(problem, file=sys.stderr)
    os._exit(1)

sys.unraisablehook = fail
sys.setswitchinterval(1e-5)
thread = threading.Thread(target=make)
thread.start()
for _ in range(100):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        with latest[0]:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
""")


def test_a_fork_waits_for_who_compiles_and_he_for_no_fork() -> None:
    """Importing Numba makes a logger, and logging has a lock that forks take too."""
    run("""
import os, threading, time
from ngraph_rewrite.runtime.forking import COMPILING, fork_lock

taken = threading.Event()

def compile():
    with fork_lock(COMPILING):
        import logging
        taken.set()
        time.sleep(0.5)
        logging.getLogger("numba")

thread = threading.Thread(target=compile)
thread.start()
taken.wait()
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
""")
