"""Hold, read, write and sample demonstrations, and estimate the occupancy they show with its error."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.demonstrations.arrays import as_whole_numbers as as_whole_numbers
from robustirl.demonstrations.checks import note_on_ends as note_on_ends
from robustirl.demonstrations.choices import Choices as Choices
from robustirl.demonstrations.choices import as_choices as as_choices
from robustirl.demonstrations.choices import pair_occupancy as pair_occupancy
from robustirl.demonstrations.estimation.alpha import AlphaEstimate as AlphaEstimate
from robustirl.demonstrations.estimation.alpha import estimate_alpha as estimate_alpha
from robustirl.demonstrations.estimation.box import OccupancyBox as OccupancyBox
from robustirl.demonstrations.estimation.box import occupancy_box as occupancy_box
from robustirl.demonstrations.estimation.chain import TransitionCounts as TransitionCounts
from robustirl.demonstrations.estimation.chain import transition_counts as transition_counts
from robustirl.demonstrations.estimation.concentration import as_confidence as as_confidence
from robustirl.demonstrations.estimation.concentration import episodes_needed as episodes_needed
from robustirl.demonstrations.estimation.concentration import l1_radius as l1_radius
from robustirl.demonstrations.estimation.dynamics import DynamicsEstimate as DynamicsEstimate
from robustirl.demonstrations.estimation.dynamics import describe_mismatch as describe_mismatch
from robustirl.demonstrations.estimation.dynamics import estimate_dynamics as estimate_dynamics
from robustirl.demonstrations.estimation.local_alpha import LocalAlphaEstimate as LocalAlphaEstimate
from robustirl.demonstrations.estimation.local_alpha import estimate_local_alpha as estimate_local_alpha
from robustirl.demonstrations.estimation.occupancy import OccupancyEstimate as OccupancyEstimate
from robustirl.demonstrations.estimation.occupancy import as_tail as as_tail
from robustirl.demonstrations.estimation.occupancy import estimate_occupancy as estimate_occupancy
from robustirl.demonstrations.estimation.occupancy import shown_contributions as shown_contributions
from robustirl.demonstrations.io.files import load as load
from robustirl.demonstrations.io.files import load_with_note as load_with_note
from robustirl.demonstrations.io.files import reserved_place as reserved_place
from robustirl.demonstrations.io.files import save as save
from robustirl.demonstrations.io.frames import is_frame as is_frame
from robustirl.demonstrations.io.frames import read_frame_with_note as read_frame_with_note
from robustirl.demonstrations.io.gymnasium import rollout_gymnasium as rollout_gymnasium
from robustirl.demonstrations.io.minari import from_minari as from_minari
from robustirl.demonstrations.io.minari import to_minari as to_minari
from robustirl.demonstrations.io.names import WorldNames as WorldNames
from robustirl.demonstrations.io.table_options import TableOptions as TableOptions
from robustirl.demonstrations.io.trajectories_of_others import from_rollout_buffer as from_rollout_buffer
from robustirl.demonstrations.io.trajectories_of_others import from_trajectories as from_trajectories
from robustirl.demonstrations.recorded import recorded as recorded
from robustirl.demonstrations.recorded import recorded_choices as recorded_choices
from robustirl.demonstrations.recording_sources import RecordingsLike as RecordingsLike
from robustirl.demonstrations.recording_sources import as_recordings as as_recordings
from robustirl.demonstrations.recording_sources import as_trainable as as_trainable
from robustirl.demonstrations.recordings import Recordings as Recordings
from robustirl.demonstrations.recordings import record as record
from robustirl.demonstrations.rollouts import sample_demonstrations as sample_demonstrations
from robustirl.demonstrations.trajectories import Demonstrations as Demonstrations
from robustirl.demonstrations.trajectories import Episode as Episode

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = [
    "Demonstrations",
    "episodes_needed",
    "estimate_alpha",
    "estimate_occupancy",
    "from_minari",
    "load",
    "rollout_gymnasium",
    "sample_demonstrations",
    "save",
]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "AlphaEstimate",
    "Choices",
    "Demonstrations",
    "DynamicsEstimate",
    "Episode",
    "OccupancyEstimate",
    "Recordings",
    "episodes_needed",
    "estimate_alpha",
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
    "to_minari",
    "transition_counts",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
