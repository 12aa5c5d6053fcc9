"""One run as data: what to run, and what came of it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from robustirl import envs
from robustirl.envs import GridWorld
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_alpha, as_count, as_seed
from robustirl.planning import require_expert_kind
from robustirl.sweeps import Spec, require_runs

PAPER_ENVIRONMENTS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "gridworld-l", "objectworld")
PAPER_ALPHAS = (1.0, 0.95, 0.9, 0.85, 0.8)
PAPER_LEARNER_NOISES = (0.0, 0.05, 0.1)
PAPER_EXPERT_NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)
STARTS = ("uniform", "fixed")
AUTO = ("", "states", "actions")


@dataclasses.dataclass(frozen=True, order=True)
class RunSpec(Spec):
    """One learner, one expert, one α: everything that determines a run's numbers.

    Attributes:
        environment: Its registered name.
        noise_model: Which kernel the noise means.
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α; one is standard MCE IRL.
        seed: The layout, where the environment has several; it also draws a network's first weights and the
            trajectories of a sampled evaluation. Nothing else in a finite run is random.
        steps: Parameter updates.
        expert: The kind of expert, `soft` or `optimal`.
        expert_alpha: α_E; below one the expert is the player of a game of its own.
        start: P₀, `uniform` or `fixed` in the cell farthest from the goal.
        train_noise: Where given, the reward is learned in the world of this noise, M^train, and then acted upon in the
            learner's (Section 3.3); otherwise it is learned in the learner's world.
        sampled: How many trajectories per start state to measure the return with besides; none is exact only.
        demonstrations: How many trajectories of the expert the learner has; none stands for its exact occupancy.
        draw: The seed of those trajectories.
        auto: Where given, α is estimated from them, from `states` alone or with `actions`, and `alpha` is not used.
    """

    environment: str
    noise_model: str
    learner_noise: float
    expert_noise: float
    alpha: float
    seed: int = 0
    steps: int = PAPER_STEPS
    expert: str = "soft"
    expert_alpha: float = 1.0
    start: str = "uniform"
    train_noise: float | None = None
    sampled: int = 0
    demonstrations: int = 0
    draw: int = 0
    auto: str = ""

    def __post_init__(self) -> None:
        # 1 and 1.0 are one number, and must be one spec by its content as well.
        for name in ("learner_noise", "expert_noise", "alpha", "expert_alpha", "train_noise"):
            if isinstance(value := getattr(self, name), int):
                object.__setattr__(self, name, float(value))

    @property
    def optimal_expert(self) -> bool:
        """Tell whether the expert is optimal in its world, as Theorems 1 and 3 assume."""
        return self.expert == "optimal" and self.expert_alpha == 1

    def make_environment(self) -> envs.Environment:
        """Return the environment, in the layout and with the start distribution of this run."""
        environment = envs.make(self.environment)
        options: dict[str, object] = {}
        if environment.layout != self.seed:
            options["seed"] = self.seed
        if self.start == "fixed":
            if not isinstance(environment, GridWorld):
                raise InvalidInputError(f"{self.environment} is not a grid, so it has no fixed start; use uniform.")
            options["initial"] = envs.make(self.environment, **options).fixed_start()  # pyright: ignore[reportAttributeAccessIssue]
        return envs.make(self.environment, **options) if options else environment

    def check(self) -> None:
        """Refuse an impossible run before any work is done."""
        environment = self.make_environment()
        as_alpha(self.alpha)
        as_alpha(self.expert_alpha)
        noises = (self.learner_noise, self.expert_noise, self.train_noise)
        for noise in noises:
            if noise is not None:
                environment.choose_noise_model(noise, self.noise_model)
        require_expert_kind(self.expert)
        if self.start not in STARTS:
            raise InvalidInputError(f"the start is {self.start!r}, but one of {', '.join(STARTS)} is needed.")
        as_count("steps", self.steps)
        as_count("the number of sampled trajectories", self.sampled, 0)
        as_count("the number of demonstrations", self.demonstrations, 0)
        as_seed("the seed of the demonstrations", self.draw)
        if self.auto not in AUTO:
            raise InvalidInputError(f"auto is {self.auto!r}, but one of 'states', 'actions' or nothing is needed.")
        if self.auto and not self.demonstrations:
            raise InvalidInputError("α cannot be estimated without demonstrations; ask for some, or give α.")


@dataclasses.dataclass(frozen=True)
class Record:
    """A run and its outcome.

    Attributes:
        spec: What was run.
        alpha_used: α, as given or as estimated.
        total_return: The learned player's return in the learner's world, undiscounted and capped, as in the paper's
            figures.
        optimal_return: That of the policy which is optimal there for the true reward.
        expert_return: The expert's, in its own world.
        discounted_return: V of the player in the learner's world, normalized by nothing: E[Σ γ^t R].
        optimal_discounted_return: The largest there is.
        occupancy_gap: ‖ρ_mix - ρ‖₁ at the end.
        halfway_gap: The same after half of the steps.
        largest_reward: max |R_θ| at the end.
        bound: The paper's bound on the gap |V^{π_1} - V| for this way of learning (Theorem 1, Theorem 3, or that of
            reward transfer), for optimal experts and kernels that do not leak.
        sampled_mean: The sampled return, where asked for.
        sampled_deviation: Its standard deviation over repetitions.
        steps: Parameter updates taken.
        verdict: How the fit ended.
        seconds: The run's share of its batch's time.
    """

    spec: RunSpec
    alpha_used: float
    total_return: float
    optimal_return: float
    expert_return: float
    discounted_return: float
    optimal_discounted_return: float
    occupancy_gap: float
    halfway_gap: float
    largest_reward: float
    bound: float | None
    sampled_mean: float | None
    sampled_deviation: float | None
    steps: int
    verdict: str
    seconds: float


def grid_of_specs(
    environment: str,
    noise_model: str | None = None,
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    seeds: Sequence[int] | None = None,
    steps: int = PAPER_STEPS,
    expert: str | None = None,
    **others: Any,
) -> tuple[RunSpec, ...]:
    """Return the cells of one figure: each seed, learner noise, α, expert noise, in that order.

    Noise model, expert and layout are the environment's own if omitted.

    Example:
        >>> len(grid_of_specs("gridworld-1", "published"))
        75
    """
    made = envs.make(environment)
    seeds = (made.layout,) if seeds is None else seeds
    named = {"alphas": alphas, "learner noises": learner_noises, "expert noises": expert_noises, "seeds": seeds}
    require_runs({name: len(values) for name, values in named.items()})
    for name, values in named.items():
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"the {name} are {tuple(values)}, but at least one is needed and none twice.")
    return tuple(
        RunSpec(
            environment,
            made.noise_models[0] if noise_model is None else noise_model,
            learner,
            expert_noise,
            alpha,
            seed=seed,
            steps=steps,
            expert=made.expert if expert is None else expert,
            **others,
        )
        for seed in seeds
        for learner in learner_noises
        for alpha in alphas
        for expert_noise in expert_noises
    )
