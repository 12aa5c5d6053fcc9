"""`robustirl demo`: the effect in one world, from nothing to a picture; and what a bare `robustirl` says."""

import dataclasses
import os
import sys
import webbrowser
from pathlib import Path

import jax
import numpy as np

from robustirl._runtime import OutputFolder, filled_whole, reserved_folder
from robustirl.cli.console import console, say_files

ARROWS = "↑→↓←"
WORLD, EXPERT_NOISE = "gridworld-1", 0.2
EPISODES = 200

WELCOME = """\
robustirl: inverse reinforcement learning when the expert's world and the learner's move differently.

  robustirl demo                                    the effect in one world, with a picture, in half a minute
  robustirl fit --env WORLD --demos FILE --out DIR  learn from demonstrations of your own
  robustirl imitate                                 learn from observations, in worlds with bodies
  robustirl reproduce --out DIR                     the experiments of the paper
  robustirl explore DIR, robustirl serve DIR        look around in results
  robustirl --help                                  all commands; robustirl COMMAND --help for one"""


@dataclasses.dataclass(frozen=True)
class Demo:
    """Show and draw the effect of robustness in one world: a noisy expert, a calm learner.

    As in

        robustirl demo
        robustirl demo --no-open --out shown
    """

    out: Path = Path("out") / "demo"
    """The folder to write the picture to."""
    open: bool = True
    """Open the picture, where there is a screen to open it on."""


def run_demo(command: Demo) -> int:
    """Run the `demo` command."""
    with reserved_folder(command.out) as place:
        pictures = _show(place)
    say_files(pictures)
    console.print("Next: your own demonstrations with `robustirl fit`, or the page First fit.")
    if command.open and _has_screen():
        webbrowser.open(pictures[0].resolve().as_uri())
    return 0


def _show(place: OutputFolder) -> list[Path]:
    """Learn with and without robustness, and return the pictures."""
    from robustirl import RobustIRL, envs
    from robustirl.demonstrations import sample_demonstrations
    from robustirl.planning import expert_policy, state_occupancy, total_return
    from robustirl.plotting import figure_fit, save_figure

    environment = envs.make(WORLD)
    noisy, world = environment.mdp(noise=EXPERT_NOISE), environment.mdp(noise=0.0)
    judged = environment.evaluation_mdp(0.0)
    expert = expert_policy(noisy, environment.reward, kind=environment.expert)
    walks = environment.evaluation_mdp(EXPERT_NOISE)
    demos = sample_demonstrations(walks, expert, episodes=EPISODES, horizon=1000, key=jax.random.key(0))
    console.print(
        f"The expert walked {WORLD} {EPISODES} times, in a world that throws it off with probability {EXPERT_NOISE};"
        " the learner's world is calm. Learning (the first time also compiles) ...",
    )
    best = float(total_return(judged, expert_policy(judged, environment.reward, kind="optimal"), environment.reward))
    models = {"standard": RobustIRL(alpha=1.0).fit(world, demos), "robust": RobustIRL(alpha="auto").fit(world, demos)}
    for name, model in models.items():
        alpha = float(np.asarray(model.fit_.alpha))
        value = float(total_return(judged, model.policy_, environment.reward))
        console.print(f"\n{name} (alpha = {alpha:g}): return {value:.1f}; the best there is: {best:.1f}")
        for row in np.asarray(model.predict(np.arange(world.num_states))).reshape(environment.shape):  # pyright: ignore
            console.print("  " + " ".join(ARROWS[action] for action in row))
    console.print(f"\n{models['robust'].judgment_}")
    with filled_whole(place) as folder:
        occupancy = np.asarray(state_occupancy(world, models["robust"].policy_))
        files = save_figure(figure_fit(environment, models["robust"], occupancy), folder / "demo")
    return [place.out / path.name for path in files]


def _has_screen() -> bool:
    """Return whether a display is available."""
    windows = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(windows) and sys.stdout is not None and sys.stdout.isatty()
