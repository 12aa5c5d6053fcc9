"""`robustirl theory` says what is guaranteed if the worlds of learner and expert differ."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robustirl.cli.options import Output, Table, World
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True)
class Theory(Output, Table, World):
    """Say what the theory guarantees if the worlds of learner and expert differ.

    As in

        robustirl theory --env gridworld-1 --expert-noise 0.1
        robustirl theory --env world.npz --demos walks.csv
        robustirl theory --env world.npz --demos walks.csv --guarantee --radius 0.1
    """

    expert_noise: float | None = None
    """The noise of the expert's world; --noise is that of the learner's."""
    expert: Literal["soft", "optimal"] = "optimal"
    """The expert's policy for the true reward; the theorems are about optimal ones."""
    demos: Path | None = None
    """Demonstrations in place of an expert's world: whatever `robustirl fit` reads."""
    alpha: Literal["auto"] | float = "auto"
    """The player's chance of control. For two worlds auto is 1 - d/2; with --guarantee it is chosen from the
    demonstrations."""
    guarantee: bool = False
    """With --demos: bound how much less than the expert a fitted policy can earn, from the demonstrations alone."""
    radius: float = 0.0
    """With --guarantee: how far, in l1, every row of the expert's world may be from the learner's. States that are
    never left are taken as they are."""

    def run(self) -> int:
        """Print what is guaranteed."""
        import robustirl

        if (self.demos is None) == (self.expert_noise is None):
            raise InvalidInputError("give the expert by --expert-noise, or by --demos; one of them is needed.")
        if self.guarantee and self.demos is None:
            raise InvalidInputError("--guarantee needs demonstrations; give some with --demos.")
        robustirl.enable_cache()
        environment = self.environment()
        learner = environment.mdp(self.noise, self.noise_model)
        self.say(
            f"{environment.name}: {learner.num_states} states, {learner.num_actions} actions, γ = {learner.discount:g}"
        )
        if self.demos is None:
            self._compare_worlds(environment, learner)
            return 0
        demonstrations, note = self.load(self.demos, environment)
        self.say(note)
        demonstrations = demonstrations.in_world(learner)
        if self.guarantee:
            self._guarantee(learner, demonstrations)
        else:
            self._from_demonstrations(learner, demonstrations)
        return 0

    def _compare_worlds(self, environment: Any, learner: Any) -> None:
        """Fit with and without an opponent, and print returns, bounds and certificates of both."""
        from robustirl import planning, rewards, theory
        from robustirl.irl import PAPER_SETTINGS, fit
        from robustirl.mdp import dynamics_distance
        from robustirl.report.report import aligned

        expert = environment.mdp(self.expert_noise, self.noise_model)
        reward = environment.reward
        policy = planning.expert_policy(expert, reward, kind=self.expert)
        occupancy = np.asarray(planning.state_occupancy(expert, policy))
        distance = float(dynamics_distance(learner, expert))
        self.say(f"mismatch d = {distance:.4g}, the largest l1 distance of two rows of the worlds")
        self._say_matchable(learner, occupancy)
        best = float(
            planning.discounted_return(learner, planning.expert_policy(learner, reward, kind="optimal"), reward)
        )
        robust = max(1 - distance / 2, 0.05) if self.alpha == "auto" else float(self.alpha)
        largest = 2 * float(np.abs(reward).max()) / (1 - float(learner.discount))
        model = rewards.make_reward_model(
            environment.reward_model, learner.num_states, environment.features, num_actions=learner.num_actions
        )
        head = ("", "return", "best return", "bound on the gap", "worst within d", "best within d")
        rows: list[tuple[str, ...]] = [head]
        answers: dict[str, Any] = {}
        for name, alpha in (("standard", 1.0), ("robust", robust)):
            learned = fit(learner, occupancy, alpha=alpha, reward=model, throw=False, **PAPER_SETTINGS)
            bound = (
                theory.standard_bound(learner, expert, reward)
                if alpha == 1
                else theory.robust_bound(learner, expert, reward, alpha)
            )
            certificate = theory.certify(learner, learned.player, reward, radius=distance)
            worst, own, most = (float(getattr(certificate, f"{x}_return")) for x in ("worst", "nominal", "best"))
            numbers = [f"{x:.4g}" for x in (own, best, bound.value, worst, most)]
            numbers[2] += "" if bound.value < largest else " (more than there can be)"
            rows.append((f"{name}, α = {alpha:.4g}", *numbers))
            answers[name] = {"alpha": alpha, "return": own, "bound": float(bound.value), "worst": worst, "best": most}
        self.say("discounted returns in the learner's world, by the true reward:\n" + "\n".join(aligned(rows)))
        self.answer(distance=distance, best_return=best, **answers)

    def _from_demonstrations(self, learner: Any, demonstrations: Any) -> None:
        from robustirl.demonstrations import estimate_occupancy

        estimate = estimate_occupancy(demonstrations, learner)
        error = float(estimate.error + estimate.bias)
        self.say(f"their occupancy is within {error:.3g} of the expert's in l1 ({100 * estimate.confidence:.0f} %)")
        gap = self._say_matchable(learner, np.asarray(estimate.occupancy))
        low, high = max(0.0, gap - error), min(2.0, gap + error)
        verdict = "it cannot be matched" if low > 0 else "the demonstrations leave open whether it can be matched"
        self.say(
            f"the least gap of any policy to the expert's own occupancy is between {low:.3g} and {high:.3g}: {verdict}"
        )
        self.answer(error=error, least_gap=[low, high])

    def _guarantee(self, learner: Any, demonstrations: Any) -> None:
        from robustirl.irl import RobustIRL
        from robustirl.mdp.mdp import absorbing_states
        from robustirl.theory import guarantee

        model = RobustIRL(self.alpha, throw=False, progress=self.shows_progress).fit(learner, demonstrations)
        ends = np.asarray(absorbing_states(learner))[:, None]
        radius = np.where(ends, 0.0, np.full(np.asarray(learner.mask).shape, self.radius))
        result = guarantee(learner, demonstrations, model.policy_, radius=radius, progress=self.shows_progress)
        self.say(f"the policy is that of a fit with α = {float(np.min(model.alpha_)):g}\n{result.summary()}")
        self.answer(alpha=float(np.min(model.alpha_)), shortfall=float(result.shortfall))

    def _say_matchable(self, learner: Any, occupancy: np.ndarray) -> float:
        """Say whether a policy of the learner has an occupancy, and return the least gap of any."""
        from robustirl.theory import closest_occupancy

        gap = float(closest_occupancy(learner, occupancy).gap)
        matchable = gap < 1e-9
        self.say("can the expert be matched: " + ("yes" if matchable else f"no, the least occupancy gap is {gap:.3g}"))
        self.answer(matchable=matchable, least_gap=gap)
        return gap
