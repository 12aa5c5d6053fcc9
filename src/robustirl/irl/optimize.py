r"""Optimizers: how a fit moves its parameters from one step to the next.

An optimizer is asked for parameters, and told what was found there. `NEWTON` is the default for every α and any
differentiable reward; `ADAM` is the paper's; any Optax optimizer serves as well.

**The path.** The dual c(θ) may be flat, and where no policy matches the expert it has no minimum. What is minimized is

    F(θ) = c(θ) + (λ/2) Σ_j w_j θ_j²,        a minimum of which has  g_j = -λ w_j θ_j,  g the gradient of c,

for ever smaller λ. Each step is a Gauss-Newton step for F in a ball (Steihaug's conjugate gradients), taken if F falls.
Whenever the minimum for the present λ has been approached, λ is lowered, and the weights are set to w_j ∝ |g_j|:
reweighted least squares. Then |θ_j| = C where a gap remains, and the path passes through the solutions of

    minimize c(θ) subject to |θ_j| <= C,  the dual of  maximize (entropy - C · gap),

for ever larger C = 1/λ. A solution's gap exceeds the least gap of any policy by at most its entropy over C, and along
the path the gap falls as long as there is entropy to give up for it. The path is left where it falls no more.

**Steps by the gap.** Below α = 1 the dual is not convex, and the lowest dual need not have the smallest gap. So from
the best point of the path steps -(H + λ diag(w))⁻¹ g follow, taken where they lower the gap itself, with λ smaller
after a good step and larger after a bad one (Levenberg and Marquardt). The fit ends where no such step, however
short, lowers the gap. At α = 1 there is a certificate besides, the distance of the gap to the lower bound -c(θ)/‖θ‖∞.
"""

import abc
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import short_repr
from robustirl._jax import jit
from robustirl.errors import InvalidInputError
from robustirl.irl.objectives import Curvature, Evaluation, rounding
from robustirl.planning.problem import Memory
from robustirl.types import FloatTree, HeldArray, Tree

if TYPE_CHECKING:
    from robustirl.irl.problem import Problem

ADAM = optax.adam(0.5, b1=0.9, b2=0.99, eps=1e-7)
"""The paper's Adam (appendix, hyperparameters for the GridWorld experiments)."""
DEEP_ADAM = optax.chain(optax.add_decayed_weights(0.01), optax.adam(1e-3, b1=0.9, b2=0.999, eps=1e-8))
"""The paper's Adam for reward networks, with its L2 decay of 0.01 (appendix, ObjectWorld hyperparameters)."""

FIRST_SIZE = 1.0
"""C at the beginning of the path, in units of the temperature."""
GROWTH = 3.0
"""Of C, when the minimum for it has been approached."""
APPROACHED = 0.3
"""A minimum counts as approached where the gradient of F, or the decrease that its model promises, is at most this
share of the gap, or of what the gap costs."""
FLOOR = 0.05
"""Of the mean |g_j|: the least weight, so that every entry stays regularized."""
END_SHARE = 0.01
"""The path is left where a stage has not lowered the gap by this share."""
CERTAIN_SHARE = 0.02
"""The fit ends where it is certain that no policy's gap is smaller by more than this share."""
PROGRESS, MOST_FAILURES = 1e-3, 6
"""It ends where so many steps by the gap in a row, each shorter than the last, have not lowered it by this share."""
CG_STEPS, CG_REDUCTION = 200, 1e-2
"""Of the residual of a direction: a rough step is as good far away, and near the end steps are few."""
ARMIJO, CUT = 0.1, 0.25
"""The share of the linear decrease that a step must bring, and the factor of its length if it does not."""
SHORTEST = 0.01
"""A step of the path that must be shorter than this share of Newton's says that the model is of no use there."""


class AbstractOptimizer(eqx.Module):
    """A way to choose parameters."""

    @abc.abstractmethod
    def begin(self, problem: "Problem", blank: Evaluation) -> Tree:
        """Return the memory before anything was evaluated; `blank` has the shapes of an evaluation."""

    @abc.abstractmethod
    def move(
        self,
        problem: "Problem",
        now: Evaluation,
        here: Evaluation,
        best: Evaluation,
        planner: Memory,
        memory: Tree,
        least_gap: Float[Array, ""],
    ) -> tuple[FloatTree, Evaluation, Tree, Bool[Array, ""]]:
        """Return the parameters to evaluate next, and whether there are none that would improve the fit.

        Args:
            problem: What is learned.
            now: What was evaluated last.
            here: Where the last step began.
            best: The evaluation with the smallest gap so far.
            planner: The memory of the planner.
            memory: The memory of the optimizer.
            least_gap: A lower bound on the gap of every policy.

        Returns:
            The next parameters, where that step begins, the memory, and whether the fit has settled.
        """

    def survives(self) -> bool:
        """Return whether a step that could not be planned reliably is one to step back from."""
        return False


class GradientMethod(AbstractOptimizer):
    """An optimizer of Optax."""

    transformation: optax.GradientTransformation = eqx.field(static=True)

    def begin(self, problem: "Problem", blank: Evaluation) -> Tree:
        del problem
        return _init(self.transformation, blank.parameters)

    def move(
        self,
        problem: "Problem",
        now: Evaluation,
        here: Evaluation,
        best: Evaluation,
        planner: Memory,
        memory: Tree,
        least_gap: Float[Array, ""],
    ) -> tuple[FloatTree, Evaluation, Tree, Bool[Array, ""]]:
        del here, best, least_gap

        def value_fn(trial: FloatTree) -> Float[Array, ""]:
            """Return the objective, with the known gradient as its derivative: plans are not differentiated."""
            fixed = jax.lax.stop_gradient(trial)
            there, _ = problem.objective.evaluate(problem, fixed, now, planner, problem.rule())
            slopes = jax.tree.map(lambda slope, new, old: jnp.vdot(slope, new - old), there.gradient, trial, fixed)
            return there.value + sum(jax.tree.leaves(slopes))

        updates, memory = optax.with_extra_args_support(self.transformation).update(
            now.gradient, memory, now.parameters, value=now.value, grad=now.gradient, value_fn=value_fn
        )
        following = optax.apply_updates(now.parameters, updates)
        # An update of zero says that the optimizer has found no better parameters.
        moves = [
            jnp.any(new != old) for new, old in zip(*map(jax.tree.leaves, (following, now.parameters)), strict=True)
        ]
        return following, now, memory, ~jnp.any(jnp.stack(moves))


@jit
def _init(transformation: optax.GradientTransformation, parameters: FloatTree) -> Tree:
    """Initialize in one program."""
    return optax.with_extra_args_support(transformation).init(parameters)


class PathState(NamedTuple):
    """Where the last step was taken; vectors are in units of the features' sizes."""

    began: Bool[HeldArray, ""]
    ridge: Float[HeldArray, " d"]  # λ w
    direction: Float[HeldArray, " d"]
    length: Float[HeldArray, ""]  # Of the step, as a share of the direction.
    slope: Float[HeldArray, ""]  # Of F along the direction.
    near: Bool[HeldArray, ""]  # Whether the model promised little.
    size: Float[HeldArray, ""]  # C
    gap: Float[HeldArray, ""]  # At the last minimum,
    least: Float[HeldArray, ""]  # and the smallest until then.
    failed: Int[HeldArray, ""]  # Negative on the path; then the failures in a row of steps by the gap.


class NewtonPath(AbstractOptimizer):
    """Gauss-Newton steps along a path of ever weaker regularization, and from its best point steps by the gap."""

    def survives(self) -> bool:
        return True

    def begin(self, problem: "Problem", blank: Evaluation) -> PathState:
        del problem
        leaves = jax.tree.leaves(blank.parameters)
        flat = np.zeros(sum(leaf.size for leaf in leaves), leaves[0].dtype)  # On the host, where they need no program.
        one, no = np.ones((), flat.dtype), np.asarray(False)
        size, none = FIRST_SIZE * one / GROWTH, np.inf * one
        return PathState(no, flat, flat, one, -one, no, size, none, none, np.asarray(-1))  # pyright: ignore[reportArgumentType]

    def move(
        self,
        problem: "Problem",
        now: Evaluation,
        here: Evaluation,
        best: Evaluation,
        planner: Memory,
        memory: PathState,
        least_gap: Float[Array, ""],
    ) -> tuple[FloatTree, Evaluation, PathState, Bool[Array, ""]]:
        before, scales, path = here, problem.model.scales(), problem.objective.path
        units = 1.0 if scales is None else ravel_pytree(scales)[0]
        unravel = ravel_pytree(now.parameters)[1]

        def scaled(at: Evaluation) -> Float[Array, " d"]:
            return ravel_pytree(at.parameters)[0] * units

        def penalized(at: Evaluation) -> Float[Array, ""]:
            return at.value + memory.ridge @ scaled(at) ** 2 / 2

        # The step: taken where F falls, and at the end where the gap does.
        first, slack, by_gap = ~memory.began, rounding(now) + rounding(before), memory.failed >= 0
        lower = penalized(now) - penalized(before) <= ARMIJO * memory.length * memory.slope + slack
        good = (now.valid & jnp.where(by_gap, now.gap < before.gap, lower)) | first
        noise = (-memory.length * memory.slope <= slack) & ~first & ~by_gap
        here = choose(good, now, before)

        # The stage: over at a minimum of F. The path: left for its best point where a stage has not lowered the gap, or
        # no step is short enough.
        theta, slopes = scaled(here), ravel_pytree(here.gradient)[0] / units
        left = jnp.abs(slopes + memory.ridge * theta).sum()
        over = first | (~by_gap & (noise | (good & (memory.near | (left <= APPROACHED * jnp.abs(slopes).sum())))))
        share, top = 1 - END_SHARE, jnp.max(jnp.abs(scaled(best)))
        idle = over & (here.gap > share * memory.gap) & (best.gap > share * memory.least)
        leave = ~by_gap & (((top > 0) & (idle | (memory.length < SHORTEST))) if path else noise)
        here = choose(leave & path, best, here)
        theta, slopes = scaled(here), ravel_pytree(here.gradient)[0] / units
        better = good & (now.gap < (1 - PROGRESS) * before.gap)
        failed = jnp.where(by_gap, jnp.where(better, 0, memory.failed + 1), jnp.where(leave, 0, -1))
        by_gap = failed >= 0

        # The ridge: weaker after a stage; in steps by the gap after a good one, and stronger after a bad one.
        on_path = jnp.where(over, GROWTH * memory.size, memory.size)
        adapted = jnp.where(good, GROWTH * memory.size, memory.size / GROWTH)
        size = jnp.where(leave, jnp.maximum(top, FIRST_SIZE), jnp.where(by_gap, adapted, on_path))
        weights = jnp.abs(slopes)
        floor = FLOOR * weights.sum() / jnp.maximum((slopes != 0).sum(), 1)  # What has no gradient does not count.
        renewed = path & (over | by_gap)
        ridge = jnp.where(renewed, jnp.maximum(weights, floor) / size, memory.ridge)

        curved = problem.objective.curvature(problem, here, planner)
        downhill = slopes + jnp.where(by_gap, 0, ridge * theta)
        direction = jax.lax.cond(
            good | renewed,
            lambda: newton_direction(lambda d: curved(d / units) / units, downhill, ridge),
            lambda: memory.direction,
        )
        slope = downhill @ direction
        # Half the slope is what the model promises of a whole step; C times the gap is what the gap costs.
        near = -slope / 2 <= APPROACHED * (ridge @ theta**2)
        longer = jnp.where(first | by_gap, 1, jnp.minimum(1, memory.length / CUT))
        length = jnp.where(good | renewed, longer, CUT * memory.length)
        state = PathState(
            began=jnp.asarray(True),
            ridge=ridge,
            direction=direction,
            length=length,
            slope=slope,
            near=near,
            size=size,
            gap=jnp.where(over, here.gap, memory.gap),
            least=jnp.where(over, best.gap, memory.least),
            failed=failed,
        )
        certain = path & (best.gap - least_gap <= CERTAIN_SHARE * best.gap)
        ended = failed >= (MOST_FAILURES if path else 2)
        lost = length * jnp.max(jnp.abs(direction)) <= jnp.finfo(theta.dtype).eps * jnp.max(jnp.abs(theta))
        settled = memory.began & (ended | certain | lost)
        return unravel((theta + length * direction) / units), here, state, settled


def choose(condition: Bool[Array, ""], yes: Evaluation, no: Evaluation) -> Evaluation:
    """Return one of two evaluations, without code for each of their arrays."""
    return jax.lax.cond(condition, lambda: yes, lambda: no)


def newton_direction(curvature: Curvature, slope: Float[Array, " d"], ridge: Float[Array, " d"]) -> Float[Array, " d"]:
    """Return -(H + diag(ridge))⁻¹ slope roughly, by conjugate gradients in units in which the ridge is the identity.

    Every iterate is a direction of descent. Without a ridge the units are the parameters' own.
    """
    unit = jnp.where(ridge > 0, 1 / jnp.sqrt(jnp.where(ridge > 0, ridge, 1)), 1)
    right = -unit * slope
    goal = CG_REDUCTION**2 * (right @ right)

    def unfinished(state) -> Bool[Array, ""]:
        _, _, _, size, count = state
        return (size > goal) & (count < CG_STEPS)

    def step(state):
        solution, residual, direction, size, count = state
        image = unit * (curvature(unit * direction) + ridge * unit * direction)
        length = size / (direction @ image)
        residual = residual - length * image
        following = residual @ residual
        # Where the curvature vanishes to rounding, what there is has to do.
        fine = jnp.isfinite(length) & (length > 0)
        solution = jnp.where(fine, solution + length * direction, jnp.where(count > 0, solution, right))
        return solution, residual, residual + following / size * direction, jnp.where(fine, following, 0), count + 1

    start = (jnp.zeros_like(right), right, right, right @ right, jnp.asarray(0))
    return unit * jax.lax.while_loop(unfinished, step, start)[0]


NEWTON = NewtonPath()
"""The default: Gauss-Newton steps along a path of ever weaker regularization."""

MOST_NEWTON = 5000
"""Parameters up to which `NEWTON` is the default: a direction takes up to twice `CG_STEPS` plans' worth of systems."""
SETTLING_ADAM = optax.adam(optax.cosine_decay_schedule(0.5, 200, alpha=0.02), b1=0.9, b2=0.999)
"""Adam whose rate decays from 0.5 to 0.01 over 200 steps: the default beyond, where a step is to cost one plan."""

_adams: dict[float, optax.GradientTransformation] = {}


def adam(rate: float) -> optax.GradientTransformation:
    """Return Adam with this learning rate, the same object every time, so that programs are shared.

    Example:
        >>> adam(0.5) is adam(0.5)
        True
    """
    return _adams.setdefault(float(rate), optax.adam(float(rate)))


def as_optimizer(given: Any, parameters: int) -> AbstractOptimizer:
    """Return an optimizer of ours or of Optax; for None the default for so many parameters."""
    if given is None:
        return NEWTON if parameters <= MOST_NEWTON else GradientMethod(SETTLING_ADAM)
    if isinstance(given, AbstractOptimizer):
        return given
    if not callable(getattr(given, "init", None)) or not callable(getattr(given, "update", None)):
        raise InvalidInputError(
            f"the optimizer is {short_repr(given)}, but one of Optax is needed, such as optax.adam(0.1); leave it out"
            " for the default."
        )
    return GradientMethod(given)
