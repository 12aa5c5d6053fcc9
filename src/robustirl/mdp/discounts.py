r"""The gate for discounts: every function that takes a γ has it checked here.

Values, occupancies and their error bounds divide by 1 - γ. A solver certifies a value of a floating-point type to
16 ε / (1 - γ) of its size, ε the type's machine epsilon; where this exceeds `LEAST_DIGIT`, no digit is left.
"""

import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float, short_repr, working_dtype
from robustirl.errors import InvalidInputError
from robustirl.mdp.checks import as_number, concrete, is_complex, require_shape, require_unmasked
from robustirl.types import ArrayLike

LEAST_DIGIT = 0.1
"""The largest relative error that is still an answer."""
NAME = "the discount γ"


def largest_discount(dtype: np.dtype) -> float:
    """Return the largest discount that leaves values of this type a digit.

    Example:
        >>> round(largest_discount(np.dtype(np.float32)), 6)
        0.999981
    """
    return 1 - 16 * float(np.finfo(dtype).eps) / LEAST_DIGIT


def _rounded_down(discount: float) -> float:
    """Return a discount near 1 without its last digits, for a sentence."""
    digits = int(np.ceil(-np.log10(1 - discount)))
    return float(np.floor(discount * 10**digits) / 10**digits)


def require_discount(value: object, *, or_one: bool = False) -> float:
    """Return a discount as a float, or refuse one that no computation can use.

    Args:
        value: γ.
        or_one: Whether γ = 1 is taken, too: for worlds whose episodes are cut off at a horizon. Nothing divides by
            1 - γ there, whatever the precision.

    Example:
        >>> require_discount(1 - 1e-16)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the discount γ is 0.9999999999999999, so close to 1 that float64 leaves no
        digit of a value; use at most 0.99999999999996.
    """
    number = as_number(NAME, value)
    if or_one and number == 1:
        return number
    if not 0 <= number < 1:
        shown = short_repr(value) if np.isnan(number) and not isinstance(value, float) else repr(number)
        rule = "0 <= γ <= 1" if or_one else "0 <= γ < 1"
        raise InvalidInputError(f"{NAME} is {shown}, but a number with {rule} is needed.")
    dtype = np.dtype(np.float64) if or_one else working_dtype()
    most = largest_discount(dtype)
    if number > most:
        exact = " or exactly 1" if or_one else ""
        raise InvalidInputError(
            f"{NAME} is {number!r}, so close to 1 that {dtype} leaves no digit of a value; use at most"
            f" {_rounded_down(most)!r}{exact}."
        )
    return number


def as_discount(value: ArrayLike, *, or_one: bool = False) -> Float[Array, ""]:
    """Return a discount, traced or not, as an array; refuse what `require_discount` refuses."""
    require_shape(NAME, value, (), "a single number")
    require_unmasked(NAME, value)
    if concrete(value) or is_complex(value):
        require_discount(value, or_one=or_one)
    return as_float(value)
