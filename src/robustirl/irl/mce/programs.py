"""The compiled programs of a fit: the three parts of the loop for a single fit, and the whole loop for a batch."""

from robustirl._runtime import BoundedJit
from robustirl.irl._batch import map_batch
from robustirl.irl.mce.loop import LoopState, Problem, advance, begin, finish, learn
from robustirl.irl.mce.result import Fit
from robustirl.types import Tree

begin_compiled: BoundedJit[..., LoopState] = BoundedJit(begin)
advance_compiled: BoundedJit[..., LoopState] = BoundedJit(advance)
finish_compiled: BoundedJit[..., Fit] = BoundedJit(finish)


def _learn_batch(batch: Problem, starts: Tree, vectorize: bool) -> Fit:
    """Run every fit of a stack, in lockstep or one after the other."""
    return map_batch(lambda given: learn(*given), (batch, starts), vectorize=vectorize)


learn_batch: BoundedJit[..., Fit] = BoundedJit(_learn_batch)
