"""Ways to store a Dst tile: few that meet every format and flag, for benches around the packer."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from bitpath.golden.spec.tensix import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.early_conversion import INTEGERS
from bitpath.verif.stimulus.tensix_pack import ALL_PACKINGS, Packing

THRESHOLD_EXPONENTS = range(-2, 7)
"""Of thresholds, about where sums of 32 products near 1 lie."""


def _holds(packing: Packing, *, dst32: bool, five: bool, integer: bool) -> bool:
    mid = packing.mid_format
    in_32_bits = (packing.dst32, mid in (Format.INT32, Format.INT8)) == (dst32, integer)
    return in_32_bits and (dst32 or (mid in EXPONENT5_FORMATS) == five)


PACKINGS = {
    kind: tuple(each for each in ALL_PACKINGS if _holds(each, dst32=dst32, five=five, integer=integer))
    for kind, (dst32, five, integer) in {
        "BF16": (False, False, False),
        "FP16": (False, True, False),
        "FP32": (True, False, False),
        "INT32": (True, False, True),
    }.items()
}
"""Every combination that golden allows, by what Dst holds."""
AS_IT_IS = {kind: Packing(Format[kind], Format[kind], kind.endswith("32"), raw=True) for kind in PACKINGS}
"""What keeps the bits of Dst, by what it holds."""


def packing_bins(packing: Packing) -> list[str]:
    """What coverage counts of a packing."""
    bins = [
        f"to {packing.out_format.name}",
        f"{'raw' if packing.raw else 'rounded'} {packing.mid_format.name}",
        f"relu {packing.relu}",
    ]
    bins += ["unsigned"] if packing.unsigned else []
    return bins + ([f"onto {packing.out_format.name}"] if packing.accumulate else [])


def every_bin(kind: str) -> list[str]:
    """The bins of all packings of a kind."""
    return list(dict.fromkeys(name for packing in PACKINGS[kind] for name in packing_bins(packing)))


def covering(kind: str, rng: Random) -> Iterable[Packing]:
    """Packings of a kind in any order, each with a bin that none before it had, until there are none left."""
    missing = set(every_bin(kind))
    for packing in rng.sample(PACKINGS[kind], len(PACKINGS[kind])):
        if missing & set(packing_bins(packing)):
            missing -= set(packing_bins(packing))
            yield with_numbers(packing, rng)


def with_numbers(packing: Packing, rng: Random) -> Packing:
    """The packing with a threshold where its ReLU has one, with one of exponents now and then, and with INT8's shift."""
    if packing.mid_format in INTEGERS:
        shifts = packing.mid_format is Format.INT8 and not packing.raw
        return replace(packing, descale_shift=rng.randrange(8)) if shifts else packing
    bias, fraction_bits = (15, 10) if packing.mid_format in EXPONENT5_FORMATS else (127, 7)
    exponents = [bias + rng.choice(THRESHOLD_EXPONENTS) for _ in range(2)]
    threshold = exponents[0] << fraction_bits | rng.getrandbits(fraction_bits) if packing.relu > 1 else 0
    return replace(packing, relu_threshold=threshold, exponent_threshold=rng.choice((0, exponents[1])))
