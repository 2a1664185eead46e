"""All functions of the kernel library's Vector unit by name, and those that are not there with the reason."""

from bitpath.golden.arrays.arguments import check_choice, check_instance
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
    "topk_local_sort": "sorts across the rows of several tiles",
    "topk_merge": "merges sorted rows of several tiles",
    "topk_rebuild": "sorts merged rows of several tiles",
    "reduce": "reduces across rows and faces",
    "cumsum": "carries sums from row to row and from tile to tile",
    "welfords": "carries mean and variance from tile to tile",
    "ema": "carries an average from row to row",
    "max_pool_indices": "moves pairs of values and indices across rows",
    "reshuffle_rows": "moves rows by indices that a RISC-V core reads from L1",
    "quant": "has forms for integer formats that a Dst of this model does not tell apart",
    **dict.fromkeys(
        (
            "typecast_uint16_to_fp32",
            "typecast_uint16_to_uint32",
            "typecast_int32_to_uint16",
            "typecast_uint32_to_uint16",
        ),
        "loads and stores words of 16 and of 32 bits at the same address, which are different rows by the pages",
    ),
    "addcmul": "is published outside the kernel library's tests",
}
"""Functions of the kernel library that are not there, each with the reason."""


def named_function(name: str) -> Function:
    """Return the function of a name.

    Raises
    ------
    TypeError, ValueError : no text, or no name of `FUNCTIONS`; with the reason for one of `ABSENT`.
    """
    check_instance("function", name, str)
    if name in ABSENT:
        raise ValueError(f"function must be one of tensix.llk.FUNCTIONS, not {name}, which {ABSENT[name]}")
    return FUNCTIONS[check_choice("function", name, FUNCTIONS)]
