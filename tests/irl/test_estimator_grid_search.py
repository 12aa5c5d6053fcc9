"""scikit-learn's search over α, by the score of held-out moves, beside the choice of `select_alpha`."""

import jax
import pytest

from robustirl import envs, planning
from robustirl.demonstrations import sample_demonstrations
from robustirl.irl import RobustIRL, select_alpha

CANDIDATES = [1.0, 0.95, 0.9, 0.85, 0.8]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model", "learner", "expert"),
    [
        ("gridworld-4", "uniform-state", 0.0, 0.2),
        ("gridworld-3", "uniform-state", 0.0, 0.2),
        ("gridworld-4", "uniform-action", 0.0, 0.2),
        ("gridworld-4", "uniform-state", 0.2, 0.0),  # A calmer expert: both stay at 1 or next to it.
    ],
)
def test_a_grid_search_lands_next_to_the_choice_of_select_alpha(name, model, learner, expert):
    search = pytest.importorskip("sklearn.model_selection").GridSearchCV
    env = envs.make(name)
    world, theirs = env.mdp(learner, model), env.mdp(expert, model)
    walks = sample_demonstrations(
        theirs, planning.expert_policy(theirs, env.reward), episodes=300, horizon=200, key=jax.random.key(0)
    )
    chosen = select_alpha(world, walks, candidates=CANDIDATES).alpha
    found = search(RobustIRL(), {"alpha": CANDIDATES}, cv=2).fit([world] * len(walks), list(walks))
    assert abs(CANDIDATES.index(found.best_params_["alpha"]) - CANDIDATES.index(chosen)) <= 1
    assert (chosen == 1) == (learner > expert)
    assert found.best_estimator_.alpha_ == found.best_params_["alpha"]
