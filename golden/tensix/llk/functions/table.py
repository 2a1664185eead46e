"""All functions of the kernel library's Vector unit by name, and the missing ones with the reason."""

from bitpath.golden.arrays.arguments import check_choice, check_instance
from bitpath.golden.tensix.llk.functions import (
    activations,
    comparisons,
    exponential,
    logarithm,
    operands,
    quantisation,
    roots,
    tiles,
    topk,
    typecasts,
)
from bitpath.golden.tensix.llk.functions.function import Function

MODULES = (
    exponential,
    roots,
    logarithm,
    activations,
    comparisons,
    typecasts,
    operands,
    quantisation,
    tiles,
    topk,
)
FUNCTIONS: dict[str, Function] = {each.name: each for module in MODULES for each in module.FUNCTIONS}
"""Functions by name."""

ABSENT = {
    "reduce_custom": "reduces a block of 4 x 2 tiles with address modifiers and a semaphore of its own",
    "max_pool_indices_generic": "keeps its accumulator in tiles that a loop of the caller numbers",
    "reshuffle_rows": "moves rows by indices that a RISC-V core reads from L1",
    **dict.fromkeys(
        (
            "typecast_uint16_to_fp32",
            "typecast_uint16_to_uint32",
            "typecast_int32_to_uint16",
            "typecast_uint32_to_uint16",
        ),
        "loads and stores words of 16 and of 32 bits at the same address, which are different rows by the pages",
    ),
}
"""Missing functions of the kernel library, each with the reason."""


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
