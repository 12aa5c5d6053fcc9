"""The compiled programs of a fit: the three parts of the loop for a single fit, and the whole loop for a batch."""

import equinox as eqx

from robustirl.irl._batch import map_batch
from robustirl.irl.mce.loop import Problem, advance, begin, finish, learn
from robustirl.irl.mce.result import Fit
from robustirl.types import Tree

begin_compiled = eqx.filter_jit(begin)
advance_compiled = eqx.filter_jit(advance)
finish_compiled = eqx.filter_jit(finish)


@eqx.filter_jit
def learn_batch(batch: Problem, starts: Tree, vectorize: bool) -> Fit:
    """Run every fit of a stack, in lockstep or one after the other."""
    return map_batch(lambda given: learn(*given), (batch, starts), vectorize=vectorize)
