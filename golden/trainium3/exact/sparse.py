"""Selection of TensorE's structured sparsity on scalars.

Ref: "Trainium2 Architecture Guide for NKI", structured sparsity. The order of positions is chosen, see
`bitpath.golden.trainium3.declarations.tensor.CHOICES`.
"""

from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.tensor import SparseNumerics, SparsePattern, TagMap


@checked
def selected(numerics: SparseNumerics, pattern: SparsePattern, row: int, code: int) -> tuple[int, int] | None:
    """Return partition and slot of the moving element that a PE in a row selects by its four-bit tag; None if illegal.

    Raises
    ------
    ValueError : a pattern that the numerics lack, a negative row, or a code of more than four bits.
    """
    if (pattern.kept, pattern.group) not in numerics.patterns:
        raise ValueError(f"pattern must be one of {numerics.patterns}, not {(pattern.kept, pattern.group)}")
    if row < 0 or not 0 <= code < 16:
        raise ValueError(f"row must be 0 or more and code 0 to 15, not {row} and {code}")
    if numerics.tag_map is TagMap.FIELDS:
        partition, slot = divmod(code, 4)
    else:
        partition, slot = divmod(code, pattern.ratio)
    if partition >= pattern.kept or slot >= pattern.ratio:
        return None
    return row - row % pattern.kept + partition, slot
