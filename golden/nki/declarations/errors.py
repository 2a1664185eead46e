"""Errors of kernels as one sentence with the kernel's line, and warnings of undefined behaviour."""

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from bitpath.golden.formats.sources import Source, choices, chosen, documented, inferred

# The choices that instructions' results depend on, with their sources, and the standing of a run.


ORDER = ("documented", "measured", "inferred", "chosen")
"""Standings, the strongest first."""
_FUNCTION = chosen("the polynomials of ScalarE's functions are not public; here the nearest FP32 number")

KEYS: Mapping[str, Source] = {
    "matmul.order": inferred("ARCH guides: rows 0 to P - 1, one after the other"),
    "matmul.rounding": inferred("each product-sum is rounded to nearest even; one of 72 published values disagrees"),
    "matmul.double_row": chosen("exact pair, one rounding, by analogy with quad-MX"),
    "matmul.fp32": chosen("one fused FP32 step; the decomposition into four passes is not documented"),
    "quantize_mx.ocp": inferred("the vendor's reference for programs compiled before NKI 0.5"),
    "quantize_mx.nki05": inferred("release notes of NKI 0.5: the scale twice as large"),
    "exponential": chosen("the algorithm is declared by this project"),
    "exponential.sum_before_cast": chosen("ISA's pseudo code adds dst; read as the FP32 value before its cast"),
    "exponential.sum_of_dst": inferred("ARCH3's pseudo code to the letter: row_max += dst"),
    "activation.exp": chosen("the algorithm of `trainium3.exponential`, declared by this project"),
    "reciprocal.rounding": chosen("one rounding of the quotient"),
    "reduction.order": inferred(
        "ISA's pseudo code: serially, from the first element; VectorE takes several elements a cycle"
    ),
    "scan.rounding": inferred("the state is FP32 and every step is rounded"),
    "bn_stats": chosen("the results are documented, how they are computed is not"),
    "select.order": inferred("comparisons in FP32; the fill becomes -infinity in narrow dtypes"),
    "dma_compute.order": inferred("FP32 sums left to right, one cast"),
    "collective.mesh": inferred(
        "Intra-node collectives: the ranks of a chip, then the chips; the order within a step is the group's"
    ),
    "collective.ring": inferred("Intra-node collectives: rank c + 1 begins chunk c; each step rounds to the dtype"),
    "collective.ring_order": chosen(
        "all channels of a ring go from each rank to the group's next; the runtime decides"
    ),
    "rng": chosen("XORWOW's low bits; how seeds become states is declared by this project"),
    "gpsimd.order": chosen("partitions are combined from 0 on"),
    "indirect.lists": chosen("one list of offsets; no document says what the index rows beyond the first G do"),
    "power": chosen("one rounding of the real power"),
}
"""Sources of the choices, by key. Functions of ScalarE are ``activation.NAME``."""


CHOICES = choices(
    {f"NKI, {key}": source for key, source in KEYS.items()}
    | {
        "NKI, activation.NAME of functions that are not exact or rounded once": _FUNCTION,
        "NKI, a tensor without an address takes the first free bytes, and its own memory where it does not fit": chosen(
            "the compiler places and spills as it likes"
        ),
        "NKI, address= counts bytes of a partition": inferred("every kernel's use; the migration guide says elements"),
        "NKI, the first matmul that writes an element since its tensor was allocated overwrites it": inferred(
            "kernels allocate PSUM tiles at one address and leave accumulate at None"
        ),
        "NKI, new memory without an address holds NaN, and integers 4": documented("the guide of the NKI simulator"),
        "NKI, new x4 words without an address are 4, as integers are": inferred(
            "the library's kernel of all experts multiplies words that nothing has written by weights of 0"
        ),
        "NKI, memset of 0.0 into integers is a warning": inferred(
            "the library's kernels do it; release notes of NKI 0.3 make a float an error"
        ),
        "NKI, a slice or index beyond a dimension is an error": inferred("kernels clamp; numpy would cut a slice"),
        "NKI, the offset of .ap is added to the view's own, with a warning where both are given": documented(
            "LANG NkiTensor.ap; the access-pattern guide counts from the storage's first element"
        ),
        "NKI, cores run by turns, core 0 first, and change at core_barrier, sendrecv and collectives": chosen(
            "the vendor's simulator uses threads, whose order is open, and has no collectives"
        ),
        "NKI, both cores of a rank take part in one collective on shared HBM, and in one each on tensors of their own": inferred(
            "the library's kernels call collectives on both cores; in SBUF each core has a shard"
        ),
        "NKI, a collective takes the DMA time of its larger side on 16 engines, twice where it reduces": chosen(
            "no document has latencies of NKI's collectives"
        ),
        "NKI, a permute takes any pairs of different ranks": documented(
            "nki.collectives; the runtime's page of 2025-12 allows rings alone"
        ),
        "NKI, a destination that overlaps a source at a shift is written when all is read, with a warning": chosen(
            "the hardware's order is undefined"
        ),
        "NKI, partitions that share bytes in the same places overlap without harm, but for DMA": inferred(
            "the library broadcasts a partition over others and itself in place"
        ),
        "NKI, set_rng_seed makes the states of all VectorE lanes by one declared mix": chosen("no document says"),
        "NKI, generators that no kernel has set are those of seed 0; GpSimd's is the first of its lane": chosen(
            "no document says; hardware keeps what an earlier program left"
        ),
        "NKI, GpSimd's rng, rand_set_state and rand_get_state take 150 cycles and one a word": chosen(
            "no document says"
        ),
        "NKI, an assignment to a tensor's elements is an error that names the copy to write": chosen(
            "LANG has the method without a description"
        ),
    }
)
"""The choices of NKI's layer; `bitpath numerics` lists them."""


def source_of(key: str) -> Source:
    """Return the source of a key."""
    return KEYS[key] if key in KEYS or not key.startswith("activation.") else _FUNCTION


_HERE = str(Path(__file__).parents[1])
WARN: ContextVar[Callable[[str, str], None] | None] = ContextVar("warn", default=None)
"""The present machine's `warn`, for views, which know no machine; None outside a kernel."""


class NkiValidationError(ValueError):
    """A kernel breaks a rule of the machine."""


class NkiWarning(UserWarning):
    """A kernel depends on undefined behaviour of the machine, or on a choice of this model."""


def kernel_frame() -> FrameType | None:
    """Return the innermost frame of a kernel's own code: the first one outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def kernel_line() -> str:
    """Return file and line of the kernel's code that runs, as ``rope.py:210``."""
    frame = kernel_frame()
    return "?" if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def doubtful(kind: str, sentence: str) -> None:
    """Warn of a line of the kernel, where a machine runs it."""
    warn = WARN.get()
    if warn is not None:
        warn(kind, sentence)


def invalid(sentence: str) -> NkiValidationError:
    """Return the error of a rule that the kernel's line breaks."""
    return NkiValidationError(f"{sentence} ({kernel_line()})")
