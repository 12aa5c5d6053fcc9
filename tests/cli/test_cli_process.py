"""A command in a process of its own: environments that JAX refuses, and signals."""

import os
import signal
import subprocess
import sys
import time

import jax
import pytest

from tests.commands import robustirl as in_this_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork and other signals")


def python(*words, **variables):
    return subprocess.run(
        [sys.executable, *words], env=os.environ | variables, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_variable_that_jax_cannot_read_is_one_line():
    done = python("-m", "robustirl", "version", JAX_ENABLE_X64="maybe")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "robustirl: jax cannot be imported with JAX_ENABLE_X64='maybe' in the environment; correct it or unset it.\n"
    )


@pytest.mark.slow
def test_ctrl_c_while_the_package_is_imported_shows_no_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.stderr.write('started')\nsys.stderr.flush()\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "robustirl", "version"],
        env=os.environ | {"PYTHONPATH": path},
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr.read(7) == b"started"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b""
    assert process.returncode in (-signal.SIGINT, 130)


@pytest.mark.slow
def test_commands_run_whatever_the_settings_of_jax(capsys, here):
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"), jax.transfer_guard("disallow"):
        status, _, said = in_this_process("demos make --env three-state --episodes 2 --out walks.npz", capsys)
        assert jax.config.jax_numpy_rank_promotion == "raise"
        assert jax.config.jax_transfer_guard_host_to_device == "disallow"
    assert (status, said) == (0, "")
    assert (here / "walks.npz").exists()
