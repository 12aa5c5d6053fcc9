"""Saved networks whose layers do not fit one another are refused when they are read, and not when they are used."""

from pathlib import Path

import numpy as np
import pytest

from robustirl.irl import RobustImitation
from robustirl.irl._archive import Archive, read_archive, write_archive
from torture.targets import kept


@pytest.mark.parametrize(
    ("array", "change", "whose"),
    [
        ("fit.player.0.1", np.transpose, "policy 'player'"),
        ("fit.player.1.0", lambda bias: np.tile(bias, 2), "policy 'player'"),
        ("fit.player.2", lambda deviation: np.tile(deviation, 2), "policy 'player'"),
        ("fit.opponent.0.0", lambda weight: weight[None], "policy 'opponent'"),
        ("fit.reward.0.0.0", np.transpose, "reward"),
    ],
)
def test_layers_fit_one_another(here, refused, array, change, whose):
    Path("model.npz").write_bytes(kept("imitation-model")[0])
    assert RobustImitation.load("model.npz").predict(np.zeros((2, 3))).shape == (2, 1)
    note, arrays = read_archive("model.npz")
    write_archive(Archive(note, arrays | {array: change(arrays[array])}), "model.npz")
    with refused(str(Path("model.npz")), f"the layers of its {whose} do not fit one another"):
        RobustImitation.load("model.npz")
