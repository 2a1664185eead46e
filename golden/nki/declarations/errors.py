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
        "NKI, a tensor without an address has bytes from its first to its last instruction, those free for longest": chosen(
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
        "NKI 0.1, a quotient is a product by VectorE's reciprocal": chosen(
            "no instruction divides, and no page says how"
        ),
        "NKI 0.1, a result that is assigned in another dtype is rounded to its own, then copied": inferred(
            "API common fields: dtype defaults to the operands', and an instruction writes to what it is assigned to"
        ),
        "NKI 0.1, the first product overwrites a PSUM tile of zeros, and later ones add": inferred(
            "the tutorials sum up from nl.zeros in PSUM, which the compiler leaves out"
        ),
        "NKI 0.1, operands that an engine cannot read in PSUM are copied to SBUF": chosen(
            "published kernels give them; the compiler's copies are not public"
        ),
        "NKI 0.1, allocators of nki.compiler leave the place of a tile to the model": chosen(
            "a place changes no values of a kernel that is right"
        ),
    }
)
"""The choices of NKI's layer; `bitpath numerics` lists them."""


UNDEFINED: Mapping[str, str] = {
    "unwritten": "bytes are used that nothing has written; copies, transposes and gathers move them unseen",
    "returned": "bytes of a result, or of an argument, are returned that nothing has written",
    "aliased_read": "bytes are read that another tensor at the same address wrote",
    "race": "bytes are read that the other core wrote since the last barrier",
    "overlap": "an instruction writes over bytes that it reads, at a shift",
    "accumulate": "a matmul adds to what nothing, before gen4 what no matmul, has written",
    "accumulator": "a reduction goes on with registers that nothing has set, or that idle left undefined",
    "argument": "a function's argument is outside the range in which its result is valid",
    "cast": "an instruction that allows no cast has a destination of another dtype, or names one",
    "float_memset": "integers are set to 0.0",
    "queue": "a DMA has a priority or an engine that there is not",
    "ap_offset": "a view with an offset gets another, and documents differ",
    "spilled": "tensors that are in use at one time do not fit",
}
"""Kinds of undefined behaviour: a run is warned of them, and a strict run refuses them."""


def source_of(key: str) -> Source:
    """Return the source of a key."""
    return KEYS[key] if key in KEYS or not key.startswith("activation.") else _FUNCTION


_HERE = str(Path(__file__).parents[1])
WARN: ContextVar[Callable[[str, str], None] | None] = ContextVar("warn", default=None)
"""The present machine's `warn`, for views, which know no machine; None outside a kernel."""

LINE: ContextVar[str | None] = ContextVar("line", default=None)
"""The kernel's line of an instruction that runs later than its call; None for the line that runs."""


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
    if (line := LINE.get()) is not None:
        return line
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
