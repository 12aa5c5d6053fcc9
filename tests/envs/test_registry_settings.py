"""Every registered environment is the one that it was: its worlds under every noise, its reward, its features.

`WRITE_GOLDENS=1 pytest` writes the descriptions anew.
"""

import pytest

from robustirl import envs
from tests.fingerprints import require_golden_parts

NAMES = [name for name in (*envs.names(), "buses", "labyrinth") if name != "taxi"]


def described(name):
    env = envs.make(name)
    reward = None if isinstance(env, envs.RecordedEnvironment) else env.reward  # Nobody knows theirs.
    found = {"reward": reward, "features": env.features, "discount": env.mdp().discount}
    for model in env.noise_models:
        found |= {model: env.mdp(0.15, model), f"{model}, evaluated": env.evaluation_mdp(0.15, model)}
    return found if env.noise_models else found | {"world": env.mdp()}


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_is_what_it_was(name):
    require_golden_parts("environments.json", {name: described(name)})


@pytest.mark.slow
def test_the_taxi_is_what_it_was():
    require_golden_parts("environments.json", {"taxi": described("taxi")})
