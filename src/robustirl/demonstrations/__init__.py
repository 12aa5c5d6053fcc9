"""Hold, read, write and sample demonstrations, and estimate the occupancy they show with its error."""

from robustirl.demonstrations.choices import Choices as Choices
from robustirl.demonstrations.choices import recorded as recorded
from robustirl.demonstrations.choices import recorded_choices as recorded_choices
from robustirl.demonstrations.dynamics import estimate_dynamics as estimate_dynamics
from robustirl.demonstrations.dynamics import estimate_local_alpha as estimate_local_alpha
from robustirl.demonstrations.episodes import Demonstrations as Demonstrations
from robustirl.demonstrations.formats import load as load
from robustirl.demonstrations.formats import save as save
from robustirl.demonstrations.occupancy import estimate_occupancy as estimate_occupancy
from robustirl.demonstrations.others import from_minari as from_minari
from robustirl.demonstrations.others import from_rollout_buffer as from_rollout_buffer
from robustirl.demonstrations.others import from_trajectories as from_trajectories
from robustirl.demonstrations.recordings import Recordings as Recordings
from robustirl.demonstrations.recordings import record as record
from robustirl.demonstrations.rollouts import rollout_gymnasium as rollout_gymnasium
from robustirl.demonstrations.rollouts import sample_demonstrations as sample_demonstrations

__all__ = [
    "Choices",
    "Demonstrations",
    "Recordings",
    "estimate_dynamics",
    "estimate_local_alpha",
    "estimate_occupancy",
    "from_minari",
    "from_rollout_buffer",
    "from_trajectories",
    "load",
    "record",
    "recorded",
    "recorded_choices",
    "rollout_gymnasium",
    "sample_demonstrations",
    "save",
]
