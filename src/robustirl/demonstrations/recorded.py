"""What was recorded in an environment that comes with data (`envs.registry.recorded_names`)."""

from robustirl.demonstrations.choices import Choices
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.envs.recorded import Buses, RecordedEnvironment
from robustirl.errors import InvalidInputError


def recorded(environment: RecordedEnvironment) -> Demonstrations:
    """Return the episodes of an environment that comes with data.

    All of them were cut off by the end of recording.

    Example:
        >>> from robustirl import envs
        >>> recorded(envs.make("labyrinth"))
        Demonstrations(238 episodes, 118762 transitions, with actions, 0 terminated)
    """
    if not isinstance(environment, RecordedEnvironment):
        raise InvalidInputError(
            f"{getattr(environment, 'name', environment)!r} comes without recorded episodes; sample some"
            " (`sample_demonstrations`), or load a file."
        )
    states, actions = zip(*environment.episodes, strict=True)
    return Demonstrations.from_arrays(states, actions, terminated=False)


def recorded_choices(environment: RecordedEnvironment) -> Choices:
    """Return the choices of an environment that comes with data; of buses, Rust's own sample.

    Example:
        >>> from robustirl import envs
        >>> recorded_choices(envs.make("buses", group=4))
        Choices(4292 choices in 37 groups)
    """
    if isinstance(environment, Buses):
        return Choices(environment.choice_states, environment.choice_actions, environment.choice_groups)
    return Choices.of(recorded(environment))
