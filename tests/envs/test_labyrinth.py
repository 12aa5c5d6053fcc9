"""The labyrinth of the mice: what was recorded there, and where its nodes lie."""

from robustirl import envs
from robustirl.demonstrations import recorded


def test_recorded_steps_of_mice_agree_with_the_labyrinth():
    env = envs.make("labyrinth")
    walks = recorded(env)
    walks.check_possible(env.mdp())
    assert (len(walks), walks.num_transitions) == (238, 238 * 499)


def test_nodes_of_the_labyrinth_lie_apart():
    places = envs.node_positions()
    assert len({tuple(place) for place in places.round(6).tolist()}) == 127
