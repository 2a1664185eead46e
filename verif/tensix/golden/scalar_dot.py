"""Scalar tier of MVMUL on one Dst word, in every style."""

from bitpath.golden.tensix.declarations.formats import Style
from bitpath.golden.tensix.exact import dot16_integer, trace_dot16


def scalar_dot(numerics, dst, b, a, **options):
    if options["style"] is Style.INT8:
        return dot16_integer(numerics, dst, b, a, options["phase"])
    return trace_dot16(numerics, dst, b, a, **options).result
