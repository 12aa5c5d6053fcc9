"""The compiled programs of a fit: the three parts of the loop for a single fit, and the whole loop for a batch."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import optax

from robustirl._runtime import BoundedJit
from robustirl.irl._batch import map_batch
from robustirl.irl.mce.loop import LoopState, Problem, advance, begin, finish, learn
from robustirl.irl.mce.result import Fit
from robustirl.types import Tree

begin_compiled: BoundedJit[..., LoopState] = BoundedJit(begin)
advance_compiled: BoundedJit[..., LoopState] = BoundedJit(advance)
_finish: BoundedJit[..., Fit] = BoundedJit(finish)


def finish_compiled(problem: Problem, state: LoopState, stopped: bool) -> Fit:
    """Return the fit as it stands; one program serves all optimizers, which have no part in it."""
    without = dataclasses.replace(problem, optimizer=_NO_OPTIMIZER)
    return _finish(without, eqx.tree_at(lambda known: known.optimizer, state, ()), jnp.asarray(stopped))


_NO_OPTIMIZER = optax.identity()


def _learn_batch(batch: Problem, starts: Tree, vectorize: bool) -> Fit:
    """Run every fit of a stack, in lockstep or one after the other."""
    return map_batch(lambda given: learn(*given), (batch, starts), vectorize=vectorize)


learn_batch: BoundedJit[..., Fit] = BoundedJit(_learn_batch)
