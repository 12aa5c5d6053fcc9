"""Flags that XLA dies of and devices that cannot be started, tried in a process of their own before JAX starts."""

import os
import signal
import sys
import time

import pytest

from robustirl.cli import devices

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork and other signals")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "F1116 13:45:02.337513 244 a.cc:234] Unknown flag in XLA_FLAGS: --x\n",
            "Unknown flag in XLA_FLAGS: --x",
        ),
        ("E1 a\nE1116 13:45 1 a.cc:9] No value.\nF1116 13:45 1 b.cc:2] Check failed.\n", "No value"),
        ('F1116 1 a.cc:9] Could not open file "x". (We assumed it was one.)\n', 'Could not open file "x"'),
        ("first\nlast\x1b[31m.\n", "last\\x1b[31m"),
        ("", "it ended without a word"),
    ],
)
def test_what_xla_says_is_shortened(said, reason):
    assert devices._reason(said) == reason


def test_a_child_answers_fails_dies_or_hangs(monkeypatch):
    fork, started = os.fork, []

    def fork_and_tell():
        started.append(fork())
        return started[-1]

    def fail():
        raise ValueError("no. Really.")

    monkeypatch.setattr(os, "fork", fork_and_tell)
    assert devices.run_in_child(lambda: print("x" * 10**5), 60) == (0, "")  # Python's own buffer is not flushed.
    assert devices.run_in_child(lambda: os.write(1, b"a" * 10**5), 60) == (0, "a" * 10**5)
    assert devices.run_in_child(fail, 60) == (1, "no\n")
    assert devices.run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 60) == (-signal.SIGKILL, "")
    assert devices.run_in_child(lambda: time.sleep(60), 0.1) == (None, "")
    assert len(started) == 5
    for child in started:
        with pytest.raises(ChildProcessError):  # It is gone, and no zombie.
            os.waitpid(child, os.WNOHANG)


def test_flags_are_tried_before_jax_starts_and_not_after(monkeypatch, refused):
    devices.jax.devices()
    monkeypatch.setitem(os.environ, "XLA_FLAGS", "--xla_nonsense")
    devices.require_flags()  # JAX is at work now, and has read them.
    monkeypatch.setattr(devices, "jax_is_at_work", lambda: False)
    monkeypatch.setattr(devices, "_start_on_cpu", lambda: os.write(2, b"F1116 a] Unknown flag") and os._exit(1))
    with refused("XLA_FLAGS='--xla_nonsense'", "Unknown flag"):
        devices.require_flags()
    monkeypatch.setattr(devices, "_start_on_cpu", lambda: None)
    devices.require_flags()
    monkeypatch.setattr(devices, "SLOWEST_START", 0.1)
    monkeypatch.setattr(devices, "_start_on_cpu", lambda: time.sleep(60))
    with refused("it had not started after 0 s"):
        devices.require_flags()
    monkeypatch.setitem(os.environ, "XLA_FLAGS", "--xla_force_host_platform_device_count=1025")
    with refused("1025 devices", "1,024"):
        devices.require_flags()
    monkeypatch.setitem(os.environ, "XLA_FLAGS", "/")
    with refused("XLA_FLAGS='/'", "a folder"):
        devices.require_flags()


def test_a_number_of_devices_that_cannot_be_started_is_named(monkeypatch, refused):
    for name in ("JAX_PLATFORMS", "XLA_FLAGS"):
        monkeypatch.delitem(os.environ, name, raising=False)
    monkeypatch.setitem(os.environ, "JAX_NUM_CPU_DEVICES", "0")

    def fail():
        raise RuntimeError("no devices")

    monkeypatch.setattr(devices.jax, "devices", fail)
    with refused("JAX_NUM_CPU_DEVICES is '0'", "(no devices)"):
        devices.require_device()
