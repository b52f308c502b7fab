"""e to the power of x and the natural logarithm, the same to the last bit on every processor.

The C library has a version of these functions for each set of instructions, and they differ in the last
bit. A sum over records that is checked to the bit, as a memory version is, may rest on none of them;
square roots, sums and products are exact by their standard. Source: IEEE 754.
"""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, InvalidOperation

# ``decimal`` reckons in software, digit by digit, and so hangs on no processor. Overflow is not
# trapped: it becomes infinity, as with floats.
_EXACT = Context(prec=25, traps=[DivisionByZero, InvalidOperation])
"""Eight digits more than a float holds."""


def exp(x: float) -> float:
    """e to the power of x; infinite where that is beyond a float."""
    return float(_EXACT.exp(Decimal(x)))


def log(x: float) -> float:
    """The natural logarithm of a positive number. Raises ``ArithmeticError`` for any other."""
    if x <= 0:
        raise ArithmeticError(f"{x} has no logarithm")
    return float(_EXACT.ln(Decimal(x)))
