"""nc_transpose: a tile transposed by TensorE or VectorE, bit for bit."""

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name, word
from bitpath.golden.nki.machine.cycles import transpose_cycles
from bitpath.golden.nki.machine.issue import CHIP, PSUM, SBUF, Issue, instruction
from bitpath.golden.nki.memory.dtypes import STORED, X4
from bitpath.golden.nki.memory.tensor import NkiTensor

TRANSPOSED_DTYPES = tuple(name for name in STORED if name not in X4)


@instruction
def nc_transpose(issue: Issue, dst: NkiTensor, data: NkiTensor, engine: engines = engines.unknown) -> None:
    """Transpose [P, F] to [F, P]: TensorE up to 128 x 128 from SBUF to PSUM, VectorE up to 32 x 32 in any memory.

    Without an engine the destination decides: PSUM means TensorE. FP8 codes on TensorE lie in the low bytes of 16-bit words,
    so that dst must step over two bytes; the upper ones become 0.
    """
    issue.check("dst", dst)
    own = engine_name(engine, "tensor" if dst.allocation.buffer == "psum" else "vector")
    if own not in ("tensor", "vector"):
        raise issue.fail(f"engine: must be tensor or vector, not {own}")
    tensor = own == "tensor"
    if tensor:
        issue.core.lists = "tensor"
        issue.check("dst", dst, PSUM)
    values = issue.tile("data", data, SBUF if tensor else CHIP, TRANSPOSED_DTYPES)
    if dst.dtype != data.dtype:
        raise issue.fail(f"dst: dtype must be data's {data.dtype}, not {dst.dtype}")
    moved = trainium3.nc_transpose(values, engine=word(own))
    if moved.dtype.itemsize != dst.itemsize:
        if dst.steps[-1] != 2:
            raise issue.fail("dst: 8-bit elements must lie in every second byte of PSUM")
        moved = moved.astype("u1")
    issue.put("dst", dst, moved.view(STORED[dst.dtype]))
    if tensor:
        issue.on("tensor", transpose_cycles(*values.shape, fp32=data.itemsize == 4))
    else:
        issue.elementwise("vector", dst, data)
