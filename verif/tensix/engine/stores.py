"""A small set of ways to store a Dst tile that covers every format and flag, for benches around the packer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS
from bitpath.verif.tensix.pack.pack import ALL_PACKINGS, Packing
from bitpath.verif.tensix.pack.pack_random import COMBINATIONS

THRESHOLD_EXPONENTS = range(-2, 7)
"""Exponents of thresholds, near the sums of 32 products near 1."""
THRESHOLD_BITS = 15
"""Width of a ReLU threshold, which is not negative."""


def _holds(packing: Packing, *, dst32: bool, five: bool, integer: bool) -> bool:
    mid = packing.mid_format
    in_32_bits = (packing.dst32, mid in (Format.INT32, Format.INT8)) == (dst32, integer)
    return in_32_bits and (dst32 or (mid in EXPONENT5_FORMATS) == five)


def _by_kind(packings: Iterable[Packing]) -> dict[str, tuple[Packing, ...]]:
    packings = tuple(packings)
    return {
        kind: tuple(each for each in packings if _holds(each, dst32=dst32, five=five, integer=integer))
        for kind, (dst32, five, integer) in {
            "BF16": (False, False, False),
            "FP16": (False, True, False),
            "FP32": (True, False, False),
            "INT32": (True, False, True),
        }.items()
    }


PACKINGS = _by_kind(ALL_PACKINGS)
"""Every combination that golden accepts, by contents of Dst."""
RARER = _by_kind(
    each.packing
    for each in COMBINATIONS
    if each.packing.edge_minus_infinity or each.packing.round_10b or each.packing.descale_shift
)
"""Combinations with a step that few stores use, by contents of Dst."""
AS_IT_IS = {kind: Packing(Format[kind], Format[kind], kind.endswith("32"), raw=True) for kind in PACKINGS}
"""Packing that keeps the bits of Dst, by contents of Dst."""


def packing_bins(packing: Packing) -> list[str]:
    """Return the coverage bins of a packing."""
    early = f"{'raw' if packing.raw else 'rounded'} {packing.mid_format.name}"
    bins = [f"to {packing.out_format.name}", early, f"relu {packing.relu}"]
    for has, name in (
        (packing.unsigned, "unsigned"),
        (packing.accumulate, f"onto {packing.out_format.name}"),
        (packing.edge_minus_infinity, f"{early}, minus infinity where masked"),
        (packing.round_10b, f"{early}, to 10 bits"),
        (packing.descale_shift, f"divided by 2**{packing.descale_shift}"),
    ):
        bins += [name] if has else []
    return bins


def every_bin(packings: Iterable[Packing]) -> list[str]:
    """Return the bins of all packings."""
    return list(dict.fromkeys(name for packing in packings for name in packing_bins(packing)))


def covering(packings: Sequence[Packing], rng: Random) -> Iterable[Packing]:
    """Return packings in random order, each with at least one new bin, until all bins are hit."""
    missing = set(every_bin(packings))
    for packing in rng.sample(packings, len(packings)):
        if missing & set(packing_bins(packing)):
            missing -= set(packing_bins(packing))
            yield packing


def with_numbers(packing: Packing, rng: Random) -> Packing:
    """Return the packing with the thresholds and the shift that its steps need; an exponent threshold only sometimes."""
    if packing.mid_format in INTEGERS:
        shifts = packing.mid_format is Format.INT8 and not packing.raw
        return replace(packing, descale_shift=rng.randrange(8)) if shifts else packing
    bias, fraction_bits = (15, 10) if packing.mid_format in EXPONENT5_FORMATS else (127, 7)
    exponents = [bias + rng.choice(THRESHOLD_EXPONENTS) for _ in range(2)]
    threshold = exponents[0] << fraction_bits | rng.getrandbits(fraction_bits) if packing.relu > 1 else 0
    return replace(packing, relu_threshold=threshold, exponent_threshold=rng.choice((0, exponents[1])))


def with_any_numbers(packing: Packing, rng: Random) -> Packing:
    """Return the packing; floats get random thresholds."""
    if packing.mid_format in INTEGERS:
        return packing
    threshold = rng.getrandbits(THRESHOLD_BITS) if packing.relu > 1 else 0
    return replace(packing, relu_threshold=threshold, exponent_threshold=rng.getrandbits(EXPONENT_BITS))
