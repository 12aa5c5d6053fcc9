r"""The second derivative of the dual in the reward, exact for the player and free of the opponent.

At a solution of the game let X(s,a) = γ Σ_s' T(s'|s,a) (I - γ P_mix)⁻¹(s',·) be the derivative of e(s,a) in the reward.
The player's policy moves by dπ(a|s) = π(a|s) (α/τ) (de(s,a) - Σ_b π(b|s) de(s,b)), and the occupancy of the mixture by

    H = (α²/τ) Σ_s ρ_mix(s) Cov_{a ~ π_pl(·|s)}[X(s,a)],

which for a reward of states and actions holds with X(s,a) = φ(s,a) + γ Σ_s' T(s'|s,a) (I - γ P_mix)⁻¹(s',·) φ_mix and
φ_mix(s) = Σ_a π_mix(a|s) φ(s,a). It is a sum of covariances: H is symmetric and positive semidefinite at every α. At
α = 1 it is the Hessian of the convex dual. Below 1 it is the Hessian wherever the opponent has no tie; the opponent's
switches bend the dual downwards only, so that a direction -(H + D)⁻¹ g with D > 0 descends everywhere.

Where α(s,a) differs by action, the player weighs X̃(s,a) = α(s,a) X(s,a) + (1-α(s,a)) Σ_b π_op(b|s) X(s,b) in place of
α X(s,a), and H = (1/τ) Σ_s ρ_mix(s) Cov[X̃(s,a)].
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl.mdp import MDP, MarkovGame, mixture, opposed
from robustirl.planning import invert_matrix, solve_policy_roughly

# States up to which H is written down: beyond, products with it are cheaper in sparse worlds.
LARGEST_DENSE = 500
# The same where its rows have at most so many entries, |S|² |A|: a fit of 900 states takes a quarter of the time.
LARGEST_DENSE_FEW_ACTIONS, MOST_ENTRIES = 1024, 2**23
CG_STEPS = 200
CG_REDUCTION = 1e-2  # Of the residual: a rough Newton step is as good far away, and near the end steps are few.
SOLVE_SHARE = 1e-4  # Of the right-hand side: what a solve inside a product with H may leave.


class Curvature(eqx.Module):
    """H at one solution of the game, in the parameters of a reward that is linear in them.

    Attributes:
        game: The learner's world and α.
        player: `[S, A]`, π_pl.
        opponent: `[S, A]`, π_op.
        mixture: `[S, A]`, α π_pl + (1-α) π_op.
        occupancy: `[S]`, ρ of the mixture.
        features: `[S, d]` or `[S, A, d]`, the derivative of the reward in the parameters; None for the identity.
        temperature: τ of the player.
        of_pairs: Whether the reward is one of states and actions.
    """

    game: MarkovGame
    player: Float[Array, "S A"]
    opponent: Float[Array, "S A"]
    mixture: Float[Array, "S A"]
    occupancy: Float[Array, " S"]
    features: Float[Array, "S d"] | Float[Array, "S A d"] | None
    temperature: float | Float[Array, ""]
    of_pairs: bool = eqx.field(static=True, default=False)

    @property
    def weights(self) -> Float[Array, "S A"]:
        """(α²/τ) ρ_mix(s) π_pl(a|s); without α² where α differs by action."""
        if self.game.alpha.ndim:
            return self.occupancy[:, None] * self.player / self.temperature
        return (self.game.alpha**2 / self.temperature) * self.occupancy[:, None] * self.player

    def solve(self, gradient: Float[Array, " d"], ridge: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return (H + diag(ridge))⁻¹ gradient: exactly in small worlds, roughly in large ones."""
        if _is_dense(self.game.mdp, ridge.size):
            # In units in which the ridge is the identity, so that tiny entries of it do not spoil the factorization.
            unit = 1 / jnp.sqrt(ridge)
            system = self.matrix() * unit[:, None] * unit + jnp.eye(ridge.size, dtype=ridge.dtype)
            return unit * jnp.linalg.solve(system, unit * gradient)
        return self._solve_roughly(gradient, ridge)

    def matrix(self) -> Float[Array, "d d"]:
        """Return H as a matrix."""
        mdp = self.game.mdp
        inverse, features = invert_matrix(mdp, self.mixture).matrix, self.features
        if self.of_pairs and features is None:
            features = jnp.eye(self.player.size, dtype=inverse.dtype).reshape(*self.player.shape, -1)
        if features is not None:
            inverse = inverse @ (jnp.einsum("sa,sad->sd", self.mixture, features) if self.of_pairs else features)
        moved = mdp.discount * jax.vmap(mdp.kernel.expect, in_axes=1, out_axes=2)(inverse)
        if self.of_pairs and features is not None:
            moved = features + moved
        if self.game.alpha.ndim:
            moved = opposed(moved, jnp.einsum("sa,sad->sd", self.opponent, moved), self.game.alpha)
        spread = moved - jnp.einsum("sa,sad->sd", self.player, moved)[:, None]
        rows = (jnp.sqrt(self.weights)[..., None] * spread).reshape(-1, inverse.shape[1])
        return rows.T @ rows

    def apply(self, direction: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return H times a direction, by two linear solves and without a matrix."""
        mdp = self.game.mdp
        reward = direction if self.features is None else self.features @ direction
        if self.of_pairs:
            reward = reward.reshape(self.player.shape)
        collected = (self.mixture * reward).sum(-1) if self.of_pairs else reward
        moved = mdp.discount * mdp.kernel.expect(solve_policy_roughly(mdp, self.mixture, collected, SOLVE_SHARE))
        if self.of_pairs:
            moved = reward + moved
        if self.game.alpha.ndim:
            moved = opposed(moved, (self.opponent * moved).sum(-1), self.game.alpha)
        weighted = self.weights * (moved - (self.player * moved).sum(-1, keepdims=True))
        if self.game.alpha.ndim:
            weighted = mixture(weighted, self.opponent, self.game.alpha)  # The adjoint of `opposed`.
        arriving = mdp.discount * mdp.kernel.push(weighted)
        occupancy = solve_policy_roughly(mdp, self.mixture, arriving, SOLVE_SHARE, transposed=True)
        if self.of_pairs:
            occupancy = weighted + occupancy[:, None] * self.mixture
        if self.features is None:
            return occupancy.ravel()
        return jnp.tensordot(occupancy, self.features, occupancy.ndim)

    def _solve_roughly(self, gradient: Float[Array, " d"], ridge: Float[Array, " d"]) -> Float[Array, " d"]:
        """Solve by conjugate gradients in units in which the ridge is the identity.

        Every iterate is a descent direction.
        """
        unit = 1 / jnp.sqrt(ridge)
        right = unit * gradient
        goal = (CG_REDUCTION * jnp.linalg.norm(right)) ** 2

        def unfinished(state):
            _, _, _, size, count = state
            return (size > goal) & (count < CG_STEPS)

        def step(state):
            solution, residual, direction, size, count = state
            image = unit * self.apply(unit * direction) + direction
            length = size / (direction @ image)
            residual = residual - length * image
            following = residual @ residual
            direction_next = residual + (following / size) * direction
            return solution + length * direction, residual, direction_next, following, count + 1

        start = (jnp.zeros_like(right), right, right, right @ right, jnp.asarray(0))
        return unit * jax.lax.while_loop(unfinished, step, start)[0]


def _is_dense(mdp: MDP, parameters: int) -> bool:
    """Return whether H is written down in this world."""
    size = max(mdp.num_states, parameters)
    few = mdp.num_states * mdp.num_actions * size <= MOST_ENTRIES
    return size <= (LARGEST_DENSE_FEW_ACTIONS if few else LARGEST_DENSE)
