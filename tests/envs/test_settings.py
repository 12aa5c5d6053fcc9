"""Every registered environment is the one that it was: its worlds under every noise, its reward, its features.

`python -m tests.envs.test_settings` writes the descriptions anew.
"""

import sys

import jax
import pytest

from robustirl import envs
from tests.fingerprints import differences, fingerprint, read_golden, write_golden

FILE = "environments.json"
NAMES = [name for name in (*envs.names(), "buses", "labyrinth") if name != "taxi"]


def described(name):
    env = envs.make(name)
    reward = None if isinstance(env, envs.RecordedEnvironment) else env.reward  # Nobody knows theirs.
    found = {"reward": reward, "features": env.features, "discount": env.mdp().discount}
    for model in env.noise_models:
        found |= {model: env.mdp(0.15, model), f"{model}, evaluated": env.evaluation_mdp(0.15, model)}
    return fingerprint(found if env.noise_models else found | {"world": env.mdp()})


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_is_what_it_was(name):
    assert differences(described(name), read_golden(FILE)[name]) == []


@pytest.mark.slow
def test_the_taxi_is_what_it_was():
    assert differences(described("taxi"), read_golden(FILE)["taxi"]) == []


if __name__ == "__main__":
    with jax.enable_x64(False):
        write_golden(FILE, {name: described(name) for name in [*NAMES, "taxi"]})
    sys.stdout.write(f"wrote {FILE}\n")
