"""All functions of the kernel library's Vector unit by name, and those that are not there with the reason."""

from bitpath.golden.tensix.llk.functions import (
    activations,
    comparisons,
    exponential,
    logarithm,
    operands,
    roots,
    typecasts,
)
from bitpath.golden.tensix.llk.functions.function import Function

FUNCTIONS: dict[str, Function] = {
    each.name: each
    for module in (exponential, roots, logarithm, activations, comparisons, typecasts, operands)
    for each in module.FUNCTIONS
}
"""Functions by name."""

ABSENT = {
    "topk_local_sort": "sorts across lanes and rows of several tiles in many phases with its own addressing",
    "topk_merge": "as topk_local_sort",
    "topk_rebuild": "as topk_local_sort",
    "reduce": "reduces across rows and faces with its own addressing; Case's op reduce is the Matrix unit's",
    "cumsum": "carries sums from row to row and from tile to tile",
    "welfords": "carries mean and variance from tile to tile",
    "ema": "carries an average from row to row",
    "max_pool_indices": "moves pairs of values and indices across rows",
    "reshuffle_rows": "moves rows by indices that the RISC-V core reads from L1",
    "quant": "quantises with scales that a second tile holds, in forms for each integer format",
    "stochastic_round": "draws random numbers whose seed is a configuration register; tensix.sfp_stoch_rnd has the rounding",
    "addcmul": "published outside tt-llk 36b092e; products and sums of three tiles are mul and add",
}
"""Functions of the kernel library that are not there, each with its reason."""
