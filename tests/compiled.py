"""Methods of kernels as tests call them: compiled whole, where every operation by itself would be compiled alone."""

import equinox as eqx

from robustirl._runtime import double_precision


@eqx.filter_jit
def _call(kernel, method, *arguments):
    return getattr(kernel, method)(*arguments)


def call(kernel, method, *arguments):
    """What a method of a kernel returns, in double precision as outside of compiled code."""
    with double_precision():
        return _call(kernel, method, *arguments)
