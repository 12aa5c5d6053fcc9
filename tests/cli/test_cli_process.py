"""A command in a process of its own: environments that JAX refuses, flags that XLA dies of, and signals."""

import os
import signal
import subprocess
import sys
import time

import jax
import pytest

from robustirl import _libraries
from robustirl.cli import devices
from robustirl.errors import InvalidInputError
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


def test_in_a_script_it_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr(_libraries, "READERS", ("jax", "tests.cli.refuses"))
    monkeypatch.setitem(os.environ, "ROBUSTIRL_TEST", "x" * 200)

    def refuse(name):
        if name != "jax":
            raise ValueError("Invalid value for JAX flag robustirl_test")

    monkeypatch.setattr(_libraries.importlib, "import_module", refuse)
    with pytest.raises(InvalidInputError, match=r"cannot be imported with ROBUSTIRL_TEST='x{100}\.\.\.' in the envi"):
        _libraries.import_libraries()


def test_what_no_variable_explains_is_passed_on(monkeypatch):
    def fail(name):
        raise RuntimeError(f"{name} is broken")

    monkeypatch.setattr(_libraries.importlib, "import_module", fail)
    with pytest.raises(RuntimeError, match="jax is broken"):
        _libraries.import_libraries()


@pytest.mark.parametrize(
    ("argv", "original"),
    [
        ([], ["python"]),
        (["-m", "fit"], ["python", "-m", "pytest", "fit"]),
        (["-m", "robustirl"], ["python", "-m", "pytest", "robustirl"]),
        (["/bin/robustirl"], ["python", "-c", "from multiprocessing", "--multiprocessing-fork"]),
    ],
)
def test_other_processes_are_not_the_command(argv, original):
    assert not _libraries.is_command(argv, original)


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


def test_a_child_answers_fails_dies_or_hangs():
    def fail():
        raise ValueError("no. Really.")

    assert devices.run_in_child(lambda: print("x" * 10**5), 60) == (0, "")  # Python's own buffer is not flushed.
    assert devices.run_in_child(lambda: os.write(1, b"a" * 10**5), 60) == (0, "a" * 10**5)
    assert devices.run_in_child(fail, 60) == (1, "no\n")
    assert devices.run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 60) == (-signal.SIGKILL, "")
    assert devices.run_in_child(lambda: time.sleep(60), 0.1) == (None, "")
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_flags_are_tried_before_jax_starts_and_not_after(monkeypatch, refused):
    monkeypatch.setitem(os.environ, "XLA_FLAGS", "--xla_nonsense")
    devices.jax.devices()
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


def test_a_number_of_devices_that_cannot_be_started_is_named(monkeypatch, refused):
    for name in ("JAX_PLATFORMS", "XLA_FLAGS"):
        monkeypatch.delitem(os.environ, name, raising=False)
    monkeypatch.setitem(os.environ, "JAX_NUM_CPU_DEVICES", "0")

    def fail():
        raise RuntimeError("no devices")

    monkeypatch.setattr(devices.jax, "devices", fail)
    with refused("JAX_NUM_CPU_DEVICES is '0'", "(no devices)"):
        devices.require_device()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_in_one_line(tmp_path, number, status):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever started these tests has this signal ignored")
    command = [sys.executable, "-m", "robustirl", "reproduce", "gridworld-1", "--out", "out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not (tmp_path / "out" / "store.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        process.send_signal(number)
        said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == status, said
    assert "Traceback" not in said
    assert said.rstrip().splitlines()[-1].startswith("robustirl: interrupted")


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
