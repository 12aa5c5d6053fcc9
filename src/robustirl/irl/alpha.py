r"""Choose α from demonstrations: every candidate is a hypothesis about the expert's world, and a player to act with.

The fit at the candidate α_j explains the expert's visits ρ by a reward R_j, which is what the expert wanted if its
world differed from the learner's as α_j says. The player π_i of the fit at α_i has under that reward the regret

    M[j, i] = (max_π ⟨ρ_π, R_j⟩ - ⟨ρ_{π_i}, R_j⟩) / (max_π ⟨ρ_π, R_j⟩ - ⟨ρ_uniform, R_j⟩),

a share of what there is to be gained over acting at random. A hypothesis is *open* if its fit explains the visits about
as well as the best one: ‖ρ_mix - ρ‖₁ exceeds the least by no more than the sampling error of ρ, or than a hundredth
of all visits, because two worlds differ in ways that no α describes exactly. The chosen α is the player with the least
mean regret under the open hypotheses. Fits stop at a tenth of the sampling error: rewards that match the visits more
closely explain noise.

What the reward may depend on decides the rest. If it has fewer weights than there are states (classes of states, say),
the distances are those of its features, since nothing else can be explained. If every state has a weight of its own,
weights of states that the expert hardly visits are free, and a player who never arrives may look good under many
rewards. So a player must then arrive where the expert's episodes end at least as often as standard IRL's (α = 1) does.

For a likelihood (choices in place of visits) α is the one that makes the choices most probable, and 1 unless that gains
more in log-likelihood than chance does: at the edge of what is possible, twice the gain is beyond 2.71 in one case of
twenty.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from robustirl._check import as_list
from robustirl._jax import working_precision
from robustirl._show import ShortRepr, draw, html_columns, joined
from robustirl.demonstrations import Choices, Demonstrations, estimate_occupancy
from robustirl.demonstrations.choices import as_choices, pair_occupancy
from robustirl.demonstrations.occupancy import shown_contributions
from robustirl.errors import InvalidInputError
from robustirl.irl.fit import fit, fit_many
from robustirl.irl.result import Fit
from robustirl.mdp import MDP, MarkovGame, uniform_policy
from robustirl.mdp.game import as_alpha
from robustirl.mdp.mdp import absorbing_states
from robustirl.planning import Temperatures, solve, state_occupancy
from robustirl.planning.verdict import Solution
from robustirl.rewards import AbstractReward, TabularReward

CANDIDATES = (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6)
LIKELIHOOD_GAIN = 2.71 / 2  # The 95 % point of the gain of one parameter at its bound, by chance alone.
RESAMPLES = 200
MATERIAL = 0.01
"""Of all visits: what an imperfect description of the expert's world may miss, however many episodes there are."""
SAME = 1e-9  # Relative rounding of sums over states.


@dataclasses.dataclass(frozen=True, eq=False)
class AlphaSelection(ShortRepr):
    """Hold the α that was chosen, and the regret matrix that decided.

    Attributes:
        alpha: α, one of the candidates.
        candidates: `[K]`, from 1 downwards.
        regrets: `[K, K]`, M: a row for each hypothesis, a column for each player.
        gaps: `[K]`, how far each fit is from the expert's visits, or minus its log-likelihood.
        error: The sampling error of the expert's visits, in the units of the gaps.
        open: `[K]`, the hypotheses that the data leave open.
        admissible: `[K]`, the players among which the choice was made.
        fits: The fit of every candidate.
        plan: `[S, A]`, the optimal policy under the mean of the open hypotheses' rewards, each divided by its range;
            the chosen player for a likelihood.
        policy: `[S, A]`, the policy to act with: the chosen player, or `plan` if it was asked for.
        episodes: How many episodes it rests on.
    """

    alpha: float
    candidates: Float[np.ndarray, " K"]
    regrets: Float[np.ndarray, "K K"]
    gaps: Float[np.ndarray, " K"]
    error: float
    open: Bool[np.ndarray, " K"]
    admissible: Bool[np.ndarray, " K"]
    fits: tuple[Fit, ...]
    plan: Float[np.ndarray, "S A"]
    policy: Float[np.ndarray, "S A"]
    episodes: int

    @property
    def mean_regrets(self) -> Float[np.ndarray, " K"]:
        """Return the mean regret of every player under the open hypotheses, `[K]`."""
        return self.regrets[self.open].mean(0)

    @property
    def place(self) -> int:
        """Return the index of the chosen candidate."""
        return list(self.candidates).index(self.alpha)

    @property
    def fit(self) -> Fit:
        """Return the fit of the chosen candidate."""
        return self.fits[self.place]

    @property
    def note(self) -> str:
        """Return in a sentence what decided."""
        low, high = self.candidates[self.open].min(), self.candidates[self.open].max()
        which = f"the hypothesis α = {low:g}" if low == high else f"the hypotheses from α = {high:g} to {low:g}"
        mine, standard = self.mean_regrets[[self.place, 0]]
        return (
            f"{self.episodes} episodes leave {which} open; under these the policy of α = {self.alpha:g} loses"
            f" {100 * mine:.2g} % in the mean, that of standard IRL {100 * standard:.2g} %."
        )

    def plot(self) -> Any:
        """Return a figure of the regret matrix: what each policy loses under each hypothesis."""
        return draw("plot_alpha", self)

    def __repr__(self) -> str:
        return joined("AlphaSelection", [f"α = {self.alpha:g}", self.note.removesuffix(".")])

    def _repr_html_(self) -> str:
        columns = {
            "α": [f"{alpha:g}" + (" ←" if alpha == self.alpha else "") for alpha in self.candidates],
            "gap": [f"{gap:.3g}" for gap in self.gaps],
            "open": ["yes" if x else "no" for x in self.open],
            "mean regret": [f"{100 * x:.2g} %" for x in self.mean_regrets],
            "considered": ["yes" if x else "no" for x in self.admissible],
        }
        return html_columns(self.note, columns)


@working_precision
def select_alpha(
    world: MDP,
    demonstrations: Demonstrations | Choices,
    *,
    candidates: Sequence[float] = CANDIDATES,
    reward: AbstractReward | None = None,
    plan: bool = False,
    objective: str = "occupancy",
    **options: Any,
) -> AlphaSelection:
    """Choose α by fitting every candidate and comparing what each player loses under each learned reward.

    Args:
        world: The learner's world.
        demonstrations: What the expert did; for a likelihood with actions, or `Choices`.
        candidates: The α to compare; 1 is added if it is missing.
        reward: The reward model; one weight for each state if omitted.
        plan: Act with the optimal policy under the mean reward of the open hypotheses, not with a player. A mean reward
            is reliable where the reward has few weights, such as `rewards.classes(labels)`, and harmful in grids with a
            weight for each state.
        objective: "occupancy" or "likelihood"; see `fit`.
        **options: Further arguments of `fit_many`, such as `steps`.

    Example:
        >>> import jax
        >>> from robustirl import envs
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> from robustirl.planning import expert_policy
        >>> env = envs.make("gridworld-4")
        >>> theirs = env.mdp(0.2)
        >>> demos = sample_demonstrations(
        ...     theirs, expert_policy(theirs, env.reward), episodes=100, horizon=200, key=jax.random.key(0)
        ... )
        >>> found = select_alpha(env.mdp(0.0), demos, candidates=[1, 0.95, 0.85])
        >>> found.alpha, found.regrets.shape, bool(found.mean_regrets[2] < found.mean_regrets[0])
        (0.85, (3, 3), True)
    """
    alphas = sorted({1.0, *(float(as_alpha(a)) for a in as_list("candidates", candidates, "numbers"))}, reverse=True)
    settings: Any = {name: value for name, value in options.items() if value is not None} | {"throw": False}
    if objective == "likelihood":
        rows = as_choices(demonstrations)
        fits = [fit(world, rows, alpha=a, reward=reward, objective=objective, **settings) for a in alphas]
        chances = np.array([np.asarray(one.mixture)[rows.states, rows.actions] for one in fits])
        gaps = -np.log(np.maximum(chances, np.finfo(float).tiny)).sum(1)
        error, episodes, fewer_weights = LIKELIHOOD_GAIN, int(np.unique(rows.groups).size), True
    else:
        if not isinstance(demonstrations, Demonstrations):
            raise InvalidInputError(
                f"alpha is chosen from demonstrations, but {type(demonstrations).__name__} was given, which does not"
                " tell it; give demonstrations, or a number as alpha."
            )
        model = TabularReward(world.num_states) if reward is None else reward
        target = matched_occupancy(demonstrations, world, model)
        seen: Any = model.seen if target.ndim == 1 else (lambda difference: difference)
        error, episodes = sampling_error(demonstrations, world, seen), len(demonstrations)
        if error > 0:
            settings.setdefault("tolerance", error / 10)
        fits = fit_many([world] * len(alphas), [target] * len(alphas), alphas, rewards=model, **settings)
        gaps = np.array([_size(seen(np.asarray(one.occupancy) - np.asarray(one.expert_occupancy))) for one in fits])
        fewer_weights = len(model.parameter_names()) < world.num_states and model.scales() is not None
    gaps = np.where([bool(one.verdict.valid) for one in fits], gaps, np.inf)
    still_open = gaps <= gaps.min() + (error if objective == "likelihood" else max(error, MATERIAL))
    players = np.array([np.asarray(one.player) for one in fits])
    regrets, ranges = regret_matrix(world, players, [np.asarray(one.reward) for one in fits])
    admissible = np.isfinite(gaps)
    if objective == "likelihood":
        admissible = np.arange(len(alphas)) == (0 if still_open[0] else int(np.argmin(gaps)))
    elif not fewer_weights:
        arrived = arrivals(world, players, np.asarray(fits[0].expert_occupancy))
        admissible &= arrived >= arrived[0] * (1 - SAME)
    admissible[0] |= not admissible.any()
    still_open[0] |= not np.isfinite(gaps).any()
    place = int(np.argmin(np.where(admissible, regrets[still_open].mean(0), np.inf)))
    planned = players[place]
    if objective != "likelihood":
        mean = np.mean([np.asarray(fits[j].reward) / ranges[j] for j in np.flatnonzero(still_open)], 0)
        planned = np.asarray(_plan(world, mean).player)
    return AlphaSelection(
        alpha=alphas[place],
        candidates=np.array(alphas),
        regrets=regrets,
        gaps=gaps,
        error=error,
        open=still_open,
        admissible=admissible,
        fits=tuple(fits),
        plan=planned,
        policy=planned if plan else players[place],
        episodes=episodes,
    )


def regret_matrix(
    world: MDP, players: Float[np.ndarray, "K S A"], rewards: Sequence[Float[np.ndarray, "..."]]
) -> tuple[Float[np.ndarray, "H K"], Float[np.ndarray, " H"]]:
    """Return the regret of every player under every reward, a row each, and the range of every reward.

    Example:
        >>> world = MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> stay, leave = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> regrets, ranges = regret_matrix(world, np.array([stay, leave]), [np.array([0.0, 1.0])])
        >>> regrets.round(3).tolist(), ranges.round(3).tolist()  # Leaving at once has 1/2, chance 1/3.
        ([[3.0, 0.0]], [0.167])
    """
    acting = np.concatenate([players, np.asarray(uniform_policy(world.mask))[None]])
    visits = np.array([np.asarray(state_occupancy(world, policy)) for policy in acting])
    regrets, ranges = np.zeros((len(rewards), len(players))), np.ones(len(rewards))
    for j, reward in enumerate(rewards):
        earned = visits @ reward if reward.ndim == 1 else (visits[:, :, None] * acting * reward).sum((1, 2))
        plan = _plan(world, reward)
        best = (1 - float(world.discount)) * float(np.asarray(world.initial) @ np.asarray(plan.value))
        best = max(best, float(earned.max())) if bool(plan.verdict.converged) else float(earned.max())
        lost, size = best - earned, float(np.abs(reward).max())
        if lost[-1] > SAME * size:  # Under a constant reward nothing can be lost.
            ranges[j], regrets[j] = lost[-1], lost[:-1] / lost[-1]
    return regrets, ranges


def _plan(world: MDP, reward: Float[np.ndarray, "..."]) -> Solution:
    """Return an optimal policy for a reward, with its value."""
    return solve(MarkovGame(world), reward, temperatures=Temperatures(player=0), throw=False)


def sampling_error(
    demonstrations: Demonstrations, world: MDP, seen: Callable[[Any], Any] = lambda difference: difference
) -> float:
    """Return the mean of ‖ρ* - ρ̂‖₁ over occupancies ρ* of bootstrapped episodes, in what a reward can see of it.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> round(sampling_error(Demonstrations.from_arrays([[0, 1]] * 9, terminated=True), world), 12)
        0.0
    """
    shown, _ = shown_contributions(demonstrations, world)
    count, mean = len(demonstrations), np.asarray(shown.mean(0)).ravel()
    generator = np.random.default_rng(0)
    shares = (np.bincount(generator.integers(count, size=count), minlength=count) / count for _ in range(RESAMPLES))
    return float(np.mean([_size(seen(np.asarray(share @ shown).ravel() - mean)) for share in shares]))


def end_states(world: MDP) -> Bool[np.ndarray, " S"]:
    """Return the states in which episodes end: absorbing or followed by nothing else, and entered from others.

    Example:
        >>> rows = np.zeros((4, 2, 4))
        >>> rows[0, 0, 1] = rows[0, 1, 2] = 1.0  # The actions of state 0 lead to 1 or 2,
        >>> rows[[1, 2, 3], :, 3] = 1.0  # after which it is over.
        >>> end_states(MDP(rows, discount=0.9)).tolist()
        [False, True, True, False]
    """
    states, mask = world.num_states, np.asarray(world.mask)
    rows = world.kernel.to_sparse().tocsr()
    first = rows[np.arange(states) * world.num_actions + mask.argmax(1)]
    alike = np.ones(states, bool)  # All actions do the same.
    for action in range(world.num_actions):
        apart = abs(rows[np.arange(states) * world.num_actions + action] - first).sum(1)
        alike &= (np.asarray(apart).ravel() < SAME) | ~mask[:, action]
    final = absorbing_states(world)
    while True:
        more = final | (alike & (np.asarray(first @ ~final).ravel() < SAME))
        if (more == final).all():
            break
        final = more
    return final & (np.asarray((~final[:, None] & mask).ravel().astype(float) @ rows).ravel() > 0)


def arrivals(
    world: MDP, players: Float[np.ndarray, "K S A"], expert: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " K"]:
    """Return Σ_e ρ_E(e) ρ(e) over the ends e of the world, for every player; ones if the expert reaches none."""
    weights = np.where(end_states(world), expert, 0)
    if not weights.any():
        return np.ones(len(players))
    return np.array([np.asarray(state_occupancy(world, player)) @ weights for player in players])


def matched_occupancy(
    demonstrations: Demonstrations, world: MDP, reward: AbstractReward | None, tail: str = "chain"
) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
    """Return the expert's occupancy: of states, or of states and actions if the reward is of both."""
    occupancy = np.asarray(estimate_occupancy(demonstrations, world, tail=tail).occupancy)
    if reward is None or len(jax.eval_shape(reward, reward.initial_parameters()).shape) == 1:
        return occupancy
    return np.asarray(pair_occupancy(demonstrations, world, occupancy))


def _size(difference: Any) -> float:
    return float(np.abs(np.asarray(difference)).sum())
