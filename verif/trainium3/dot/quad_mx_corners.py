"""Directed corners of the quad-MX dot step, each with the property of golden's trace that makes it one.

A bin counts as hit only where its property holds, so a corner that misses its mark shows up as a bin not hit.
"""

from random import Random

from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.verif.trainium3.dot.quad_mx_boundary_corners import BOUNDARIES
from bitpath.verif.trainium3.dot.quad_mx_corner import Corner
from bitpath.verif.trainium3.dot.quad_mx_found_corners import found
from bitpath.verif.trainium3.dot.quad_mx_range_corners import RANGE
from bitpath.verif.trainium3.dot.quad_mx_rounding_corners import NEAREST, UNALIGNED
from bitpath.verif.trainium3.dot.quad_mx_sum_corners import SUMS


def corners(numerics: DotNumerics, rng: Random) -> list[Corner]:
    """All corners that the numerics have."""
    makers = [*RANGE, *SUMS, found, *BOUNDARIES]
    # An aligned sum has lost what lies below the accumulator's last place before it is rounded.
    if numerics.align_fraction_bits is None:
        makers += UNALIGNED
        if numerics.accumulator_rounding is Rounding.RNE:
            makers += NEAREST
    return [corner for maker in makers for corner in maker(numerics, rng)]
