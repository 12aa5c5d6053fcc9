"""Ctrl-C is answered while a compiled program runs, which itself cannot be stopped."""

import subprocess
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import wait_interruptibly, waiting

LONG = {  # Each would run for hours.
    "solve": """
from robustirl.planning import ValueIteration, solve
run = lambda steps: solve(world, np.arange(36.0), solver=ValueIteration(), max_steps=steps, throw=False)
""",
    "fit_many": """
from robustirl.irl import fit_many
run = lambda steps: fit_many([world] * 2, [[0.1, 0.8, 0.1]] * 2, [0.9, 0.95], steps=5 if steps < 10 else 10**7,
    tolerance=1e-300, throw=False)
""",
}
PROGRAM = """
import os, signal, threading, time
import numpy as np
from robustirl.envs import ThreeState
from robustirl import envs
# XLA runs programs of fewer than a thousand operations a step in the calling thread, hence the larger world.
world = envs.make("gridworld-4", discount=1 - 1e-9).mdp(0.1) if {name!r} == "solve" else ThreeState().mdp(0.1)
{body}
run(5)  # Compiled from here on.
sent = []
def press():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.0, press).start()
try:
    run(10**9)
    print("ended", flush=True)
except KeyboardInterrupt:
    print("answered after", time.monotonic() - sent[0], flush=True)
os._exit(0)  # The program in the background would go on.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LONG))
def test_an_interrupt_is_answered_while_computing(name):
    program = PROGRAM.format(name=name, body=LONG[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    words = done.stdout.split()
    assert words[:2] == ["answered", "after"], done.stdout + done.stderr
    assert float(words[2]) < 10  # Of hours. A tenth of a second where nobody else needs the processor.


def test_values_are_waited_for_and_traced_ones_passed_over():
    found = wait_interruptibly({"a": jnp.ones(3), "b": np.ones(2), "c": None})
    assert np.array_equal(found["a"], np.ones(3))
    assert float(jax.jit(lambda x: wait_interruptibly(x) + 1)(1.0)) == 2


def test_a_long_wait_sleeps_longer_and_longer(monkeypatch):
    class Slow:
        """Not ready before it was asked so often."""

        def __init__(self, asked):
            self.asked = asked

        def is_ready(self):
            self.asked -= 1
            return self.asked < 0

    clock, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds or 0.0015

    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    monkeypatch.setattr(waiting, "jax", SimpleNamespace(Array=Slow, tree=jax.tree))
    assert len(wait_interruptibly([Slow(5), 3.0, Slow(15)])) == 3
    # Twice at once, within 2 ms; then from a tenth of a millisecond to fifty.
    assert slept == pytest.approx([0, 0, *(min(1e-4 * 1.5**k, 0.05) for k in range(18))])
    assert slept[-2:] == [0.05, 0.05]
