"""`robustirl imitate`: robust imitation from observation in a world with bodies."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from robustirl.cli.options import Output, parse_numbers
from robustirl.errors import InvalidInputError

EXPERTS = 2  # Trained side by side, of which the better is recorded: of six single ones one failed to swing up.
LAST_UPDATES = 20  # By the returns of which experts are compared.


@dataclasses.dataclass(frozen=True)
class Imitate(Output):
    """Learn from an observed expert in a world with another body.

    Without --demos an expert is trained in the world that --expert-physics describes, and recorded. Two learners are
    trained side by side: without an opponent (α = 1), and with one (--alpha).

    As in

        robustirl imitate --env cart-pole-swing-up --physics mass=0.2 --alpha 0.95 --out swung
        robustirl imitate --env hopper --demos minari:mujoco/hopper/expert-v0 --physics mass=1.5 --out hopped
    """

    out: Path
    """The folder to write to; a new or an empty one."""
    env: str = "cart-pole-swing-up"
    """acrobot, cart-pole, cart-pole-swing-up, double-pendulum, mountain-car or pendulum; with MuJoCo installed also
    inverted-double-pendulum, inverted-pendulum, hopper, half-cheetah, walker-2d, or the path of a model file."""
    demos: str | None = None
    """What was seen of the expert: a file of `Recordings` (.npz), or minari:ID; made on the spot if omitted."""
    alpha: float = 0.95
    """α of the learner that is robust, between 0 and 1."""
    physics: tuple[str, ...] = ()
    """Parameters of the learner's world, such as mass=0.2 length=0.6."""
    expert_physics: tuple[str, ...] = ()
    """Parameters of the expert's world, where it is trained here."""
    steps: int = 600_000
    """Steps in the learner's world."""
    expert_steps: int = 600_000
    """Steps of the expert's training."""
    episodes: int = 16
    """Demonstrations to record."""
    attempts: int = 1
    """Trainings from different draws, of which the one closest to the expert is kept."""
    seed: int = 0
    """Decides all draws."""

    def run(self) -> int:
        """Train, and write the folder."""
        import jax

        import robustirl
        from robustirl._check import as_count, as_seed
        from robustirl._files import new_folder
        from robustirl.control import measure_returns
        from robustirl.demonstrations.recordings import as_recordings
        from robustirl.irl import ImitationConfig, save_fit
        from robustirl.irl.imitation import closest, fit_imitation_many

        if not 0 < self.alpha < 1:
            raise InvalidInputError(f"--alpha is {self.alpha}, but a number between 0 and 1 is needed.")
        config, count = ImitationConfig(steps=self.steps), as_count("--attempts", self.attempts, 1)
        if min(self.steps, self.expert_steps) < config.ppo.batch:
            raise InvalidInputError(f"--steps and --expert-steps need at least {config.ppo.batch} steps, one update.")
        robustirl.enable_cache()
        world, keys = self._world("--physics"), jax.random.split(jax.random.key(as_seed("--seed", self.seed)), 4)
        with new_folder(self.out) as folder:
            seen = self._trained_expert(keys[:2]) if self.demos is None else as_recordings(self.demos).without_actions()
            alphas = [alpha for alpha in (1.0, self.alpha) for _ in range(count)]
            fits = fit_imitation_many(
                [world] * len(alphas), [seen] * len(alphas), alphas, config=config,
                keys=list(jax.random.split(keys[2], count)) * 2, progress=self.shows_progress,
            )  # fmt: skip
            best = [closest(fits[:count]), closest(fits[count:])]
            players = [fit.player for fit in best]
            with robustirl.single_precision():
                returns = measure_returns([world] * 2, players, episodes=16, keys=[keys[3]] * 2)
            seen.save(folder / "demos.npz")
            self.say(f"{seen!r}; the learner's world: {world!r}")
            for alpha, fit, value in zip((1.0, self.alpha), best, np.asarray(returns).mean(1), strict=True):
                save_fit(fit, folder / f"fit-alpha-{alpha!r}.npz")
                gap = float(fit.verdict.gap)
                self.say(
                    f"α = {alpha:g}: return {value:.1f} in the learner's world (no learner saw a reward), gap {gap:.3g}"
                )
                self.answer(**{f"alpha_{alpha:g}": {"return": float(value), "gap": gap}})
        self.say(f"wrote {self.out}")
        self.answer(files=sorted(str(path) for path in self.out.iterdir()))
        return 0

    def _trained_expert(self, keys: Any) -> Any:
        """Train two experts, and return what is seen of the better one."""
        import jax

        from robustirl._progress import progress_bar
        from robustirl.control.training import train_policies
        from robustirl.demonstrations import record

        home = self._world("--expert-physics")
        with progress_bar("training an expert", self.expert_steps, show=self.shows_progress) as report:
            trained = train_policies(
                [home] * EXPERTS, steps=self.expert_steps, keys=list(jax.random.split(keys[0], EXPERTS)),
                callbacks=[lambda step: report(step.steps, "")],
            )  # fmt: skip
        last = [np.asarray(one.progress.episode_return)[-LAST_UPDATES:] for one in trained]
        means = [float(np.nanmean(returns)) if np.isfinite(returns).any() else -np.inf for returns in last]
        policy = trained[int(np.argmax(means))].policy
        return record(home, policy, episodes=self.episodes, key=keys[1]).without_actions()

    def _world(self, option: str) -> Any:
        from robustirl.envs import physics

        parameters = parse_numbers(option, self.physics if option == "--physics" else self.expert_physics)
        if self.env in physics.names():
            return physics.make(self.env).changed(**parameters)
        return physics.mujoco_world(self.env, fast=True, **parameters)  # pyright: ignore[reportArgumentType]
