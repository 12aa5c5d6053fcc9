"""Read worlds from Gymnasium, and offer ours to it. Importing this package needs no Gymnasium, calling it does."""

from robustirl.envs.gymnasium._guard import require_gymnasium as require_gymnasium
from robustirl.envs.gymnasium.tables import RecordedStates as RecordedStates
from robustirl.envs.gymnasium.tables import from_gymnasium as from_gymnasium
from robustirl.envs.gymnasium.vector import VectorWorld as VectorWorld
from robustirl.envs.gymnasium.vector import from_gymnasium_vector as from_gymnasium_vector
