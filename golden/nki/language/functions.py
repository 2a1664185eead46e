"""Functions of ``nl`` on tiles: each a fixed list of instructions.

They are operators, too: an instruction takes ``nl.add`` itself. Inputs have equal shapes; the result is a new tile in SBUF.

Ref: ``nki.language`` reference page, NKI 0.6, where they are experimental. Which instructions they become is chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import pi, prod
from typing import Any

from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.language.memory import fill, full, ndarray
from bitpath.golden.nki.memory.dtypes import INTEGERS
from bitpath.golden.nki.memory.tensor import NkiTensor


def _new_like(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    return ndarray(x.shape, dtype or x.dtype)


def _binary(name: str) -> Callable:
    def operator(x: NkiTensor, y: NkiTensor | float, dtype: Any = None) -> NkiTensor:
        made = _new_like(x if isinstance(x, NkiTensor) else y, dtype)
        if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
            if x.shape != y.shape:
                raise invalid(f"{name}: inputs must have one shape, not {x.shape} and {y.shape}")
            isa.tensor_tensor(made, x, y, op=operator)
        elif isinstance(x, NkiTensor):
            isa.tensor_scalar(made, x, operator, y)
        else:
            isa.tensor_scalar(made, y, operator, x, reverse0=True)
        return made

    return _named(operator, name, f"Return ``x {name} y`` of two tiles, or of a tile and a number.")


def _unary(name: str) -> Callable:
    def operator(x: NkiTensor, dtype: Any = None) -> NkiTensor:
        made = _new_like(x, dtype)
        isa.tensor_scalar(made, x, operator, None)
        return made

    return _named(operator, name, f"Return {name} of a tile, by tensor_scalar.")


def _function(name: str) -> Callable:
    def function(x: NkiTensor, dtype: Any = None) -> NkiTensor:
        made = _new_like(x, dtype)
        isa.activation(made, function, x)
        return made

    return _named(function, name, f"Return {name} of a tile, by activation.")


def _named(function: Callable, name: str, text: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


add, subtract, multiply, divide, power = map(_binary, ("add", "subtract", "multiply", "divide", "power"))
maximum, minimum, abs_max, abs_min = map(_binary, ("maximum", "minimum", "abs_max", "abs_min"))
equal, not_equal, less, less_equal, greater, greater_equal = map(
    _binary, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)
bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift = map(
    _binary, ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
)
logical_and, logical_or, logical_xor = map(_binary, ("logical_and", "logical_or", "logical_xor"))
abs, invert, logical_not = map(_unary, ("abs", "invert", "logical_not"))
exp, log, sqrt, rsqrt, tanh, sigmoid, relu, square, sign = map(
    _function, ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "square", "sign")
)
gelu, gelu_dx, gelu_apprx_tanh, gelu_apprx_sigmoid, gelu_apprx_sigmoid_dx = map(
    _function, ("gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx")
)
silu, silu_dx, softplus, mish, erf, erf_dx, sin, arctan, prelu = map(
    _function, ("silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "sin", "arctan", "prelu")
)


def reciprocal(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return 1 / x of a tile, by VectorE."""
    made = _new_like(x, dtype)
    isa.reciprocal(made, x)
    return made


def copy(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a copy of a tile."""
    made = _new_like(x, dtype)
    isa.tensor_copy(made, x)
    return made


def negative(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return -x of a tile: a product by -1."""
    return multiply(x, -1.0, dtype)


def _is_integer(x: NkiTensor) -> bool:
    return x.dtype == "bool" or x.dtype in INTEGERS


def _integral(x: NkiTensor) -> NkiTensor:
    """Return a new FP32 tile of the integers next to x, towards 0, with the signs of x.

    Below 2**23 a cast to INT32 rounds |x| to nearest even; where that is above |x| it is one too large. Larger numbers, infinities
    and NaN stay as they are.
    """
    wide, size, nearest = ndarray(x.shape, "float32"), ndarray(x.shape, "float32"), ndarray(x.shape, "int32")
    isa.tensor_copy(wide, x)
    isa.tensor_scalar(size, wide, abs, None)
    isa.tensor_copy(nearest, size)
    whole, more, has_fraction = ndarray(x.shape, "float32"), ndarray(x.shape, "float32"), ndarray(x.shape, "uint8")
    isa.tensor_copy(whole, nearest)
    isa.tensor_tensor(more, whole, size, op=greater)
    isa.tensor_tensor(whole, whole, more, op=subtract)
    sign = ndarray(x.shape, "uint32")
    isa.tensor_scalar(sign, wide.view("uint32"), bitwise_and, 1 << 31)
    isa.tensor_tensor(whole.view("uint32"), whole.view("uint32"), sign, op=bitwise_or)
    isa.tensor_scalar(has_fraction, size, less, 2.0**23)
    isa.tensor_copy_predicated(wide, whole, has_fraction)
    return wide


def trunc(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return x without its fraction, by a cast to INT32 of |x|, a correction of 1 and the sign's bit."""
    return copy(x if _is_integer(x) else _integral(x), dtype or x.dtype)


def floor(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return the largest integer that is at most x: trunc(x) - (trunc(x) > x)."""
    if _is_integer(x):
        return copy(x, dtype)
    whole, more = _integral(x), ndarray(x.shape, "float32")
    isa.tensor_tensor(more, whole, x, op=greater)
    return subtract(whole, more, dtype or x.dtype)


def ceil(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return the smallest integer that is at least x: -floor(-x)."""
    return copy(x, dtype) if _is_integer(x) else negative(floor(negative(x, "float32")), dtype or x.dtype)


def cos(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return the cosine: sin(pi / 2 - |x|), whose argument is in the valid range of sin for x from -3 pi / 2 to 3 pi / 2."""
    angle = ndarray(x.shape, "float32")
    isa.tensor_scalar(angle, x, abs, None, op1=subtract, operand1=pi / 2, reverse1=True)
    return sin(angle, dtype or x.dtype)


def tan(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return the tangent: sin(x) times VectorE's reciprocal of cos(x)."""
    return multiply(sin(x, "float32"), reciprocal(cos(x, "float32")), dtype or x.dtype)


def _operands(x: NkiTensor | float, y: NkiTensor | float) -> tuple[NkiTensor, NkiTensor, Any]:
    """Return both as tiles, where a number fills one of FP32, and the dtype of the first tile."""
    like = next(each for each in (x, y) if isinstance(each, NkiTensor))
    left, right = (each if isinstance(each, NkiTensor) else full(like.shape, each, "float32") for each in (x, y))
    return left, right, like.dtype


def fmod(x: NkiTensor | float, y: NkiTensor | float, dtype: Any = None) -> NkiTensor:
    """Return r = |x| - trunc(|x| * (1 / |y|)) * |y| with the sign of x, each step rounded to FP32.

    The quotient of rounded steps may be wrong by one: r + |y| replaces an r below 0, then r - |y| one of |y| or more.
    """
    x, y, own = _operands(x, y)
    size, per = abs(x, "float32"), abs(y, "float32")
    rest = subtract(size, multiply(trunc(multiply(size, reciprocal(per))), per))
    rest = add(rest, multiply(less(rest, 0.0), per))
    rest = subtract(rest, multiply(greater_equal(rest, per), per))
    return copy(multiply(rest, subtract(1.0, multiply(less(x, 0.0, "float32"), 2.0))), dtype or own)


def mod(x: NkiTensor | float, y: NkiTensor | float, dtype: Any = None) -> NkiTensor:
    """Return r = fmod(x, y), plus y if r is not 0 and has another sign than y."""
    x, y, own = _operands(x, y)
    rest = fmod(x, y, "float32")
    apart = multiply(not_equal(rest, 0.0), logical_xor(less(rest, 0.0), less(y, 0.0, "float32"), "float32"))
    return add(rest, multiply(apart, y, "float32"), dtype or own)


def _reduction(operator: Callable, name: str) -> Callable:
    def reduce(x: NkiTensor, axis: int | Sequence[int], dtype: Any = None, keepdims: bool = False) -> NkiTensor:
        axes = sorted(dim % x.ndim for dim in ((axis,) if isinstance(axis, int) else axis))
        kept = [1 if dim in axes else num for dim, num in enumerate(x.shape)]
        made = ndarray((x.shape[0], prod(kept[1:])), dtype or x.dtype)
        isa.tensor_reduce(made, operator, x, axis=tuple(axes))
        shape = kept if keepdims else [num for dim, num in enumerate(x.shape) if dim not in axes]
        return made.reshape(tuple(shape) if len(shape) > 1 else (*shape, 1))

    return _named(reduce, name, f"Return the {name} of a tile over its last dimensions, by tensor_reduce.")


sum, max, min, prod_ = (
    _reduction(operator, name)
    for operator, name in ((add, "sum"), (maximum, "max"), (minimum, "min"), (multiply, "prod"))
)


def all(x: NkiTensor, axis: int | Sequence[int], dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return 1 where no element over the last dimensions is 0, else 0: the minimum of a comparison with 0."""
    return min(not_equal(x, 0.0, "float32"), axis, dtype or x.dtype, keepdims)


def mean(x: NkiTensor, axis: int | Sequence[int], dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the sum over the last dimensions, times 1 / count."""
    axes = (axis,) if isinstance(axis, int) else axis
    count = prod(x.shape[dim] for dim in axes)
    total = sum(x, axis, "float32", keepdims)
    made = _new_like(total, dtype or x.dtype)
    isa.tensor_scalar(made, total, multiply, 1.0 / count)
    return made


def var(x: NkiTensor, axis: int | Sequence[int], dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the mean of the squared differences from the mean, of [P, F]."""
    centre = ndarray(x.shape, "float32")
    isa.tensor_scalar(centre, x, subtract, mean(x, axis, "float32", keepdims=True))
    return mean(square(centre), axis, dtype or x.dtype, keepdims)


def softmax(x: NkiTensor, axis: int = -1, dtype: Any = None) -> NkiTensor:
    """Return exp(x - max) / sum of [P, F] over F."""
    highest = ndarray((x.shape[0], 1), "float32")
    isa.tensor_reduce(highest, maximum, x, axis=1, negate=True)
    powers, total = ndarray(x.shape, "float32"), ndarray((x.shape[0], 1), "float32")
    isa.activation_reduce(powers, exp, x, add, total, bias=highest)
    share = reciprocal(total)
    made = _new_like(x, dtype)
    isa.tensor_scalar(made, powers, multiply, share)
    return made


def rms_norm(
    x: NkiTensor, w: NkiTensor, axis: int, n: int, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """Return x / sqrt(mean of squares + epsilon) * w of [P, F]."""
    total, squares = ndarray((x.shape[0], 1), "float32"), ndarray(x.shape, "float32")
    isa.activation_reduce(squares, square, x, add, total)
    scale = ndarray((x.shape[0], 1), "float32")
    isa.tensor_scalar(scale, total, multiply, 1.0 / n, op1=add, operand1=epsilon)
    root = rsqrt(scale)
    made = _new_like(x, dtype)
    isa.scalar_tensor_tensor(made, x, multiply, root, multiply, w)
    return made


def where(condition: NkiTensor, x: NkiTensor | float, y: NkiTensor | float, dtype: Any = None) -> NkiTensor:
    """Return x where the condition is not 0, else y."""
    shape_of = next(each for each in (x, y, condition) if isinstance(each, NkiTensor))
    made = _new_like(shape_of, dtype)
    if isinstance(y, NkiTensor):
        isa.tensor_copy(made, y)
    else:
        fill(made, y)
    mask = condition
    if condition.dtype not in ("uint8", "uint16", "uint32"):
        mask = ndarray(condition.shape, "uint8")
        isa.tensor_scalar(mask, condition, not_equal, 0.0)
    chosen = x
    if isinstance(x, NkiTensor) and x.dtype != made.dtype:
        chosen = copy(x, made.dtype)
    isa.tensor_copy_predicated(made, chosen, mask)
    return made


def load(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a new tile in SBUF of an HBM tensor's elements."""
    made = ndarray(src.shape if src.ndim > 1 else (*src.shape, 1), dtype or src.dtype)
    isa.dma_copy(made, src)
    return made


def store(dst: NkiTensor, value: NkiTensor) -> None:
    """Write a tile to HBM; one of PSUM goes through SBUF."""
    if value.allocation.buffer == "psum":
        value = copy(value)
    isa.dma_copy(dst, value)


def load_transpose2d(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a new tile in SBUF of an HBM matrix, transposed by DMA."""
    made = ndarray(src.shape[::-1], src.dtype)
    isa.dma_transpose(made, src)
    return made if dtype in (None, made.dtype) else copy(made, dtype)


def transpose(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a tile transposed: by VectorE up to 32 by 32, else by TensorE through PSUM."""
    small = x.shape[0] <= 32 and x.size // x.shape[0] <= 32
    there = ndarray((x.size // x.shape[0], x.shape[0]), x.dtype, "sbuf" if small else "psum")
    isa.nc_transpose(there, x)
    return there if small and dtype in (None, x.dtype) else copy(there, dtype or x.dtype)


def matmul(x: NkiTensor, y: NkiTensor, transpose_x: bool = False) -> NkiTensor:
    """Return the product of x [M, K], or [K, M] with transpose_x, and y [K, N], in PSUM."""
    stationary = x if transpose_x else transpose(x)
    made = ndarray((stationary.shape[1], y.shape[1]), "float32", "psum")
    isa.nc_matmul(made, stationary, y)
    return made


def broadcast_to(x: NkiTensor, shape: Sequence[int], dtype: Any = None) -> NkiTensor:
    """Return a tile repeated to a shape: over partitions by a DMA that reads one of them again, else by a copy."""
    view = x
    for dim, (num, wanted) in enumerate(zip(x.shape, shape, strict=True)):
        if num != wanted and dim:
            view = view.broadcast(dim, wanted)
    made = ndarray(tuple(shape), dtype or x.dtype)
    if x.shape[0] == shape[0]:
        isa.tensor_copy(made, view)
        return made
    if x.shape[0] != 1:
        raise invalid(f"broadcast_to: x must have 1 or {shape[0]} partitions, not {x.shape[0]}")
    isa.dma_copy(made, replace(view, shape=made.shape, steps=(0, *view.steps[1:])))
    return made


def expand_dims(x: NkiTensor, axis: int | Sequence[int]) -> NkiTensor:
    """Return a view with dimensions of one element at these places."""
    for dim in sorted((axis,) if isinstance(axis, int) else axis):
        x = x.expand_dim(dim)
    return x


def random_seed(seed: int) -> None:
    """Seed VectorE's generators with one number."""
    tile = ndarray((1, 1), "int32")
    isa.memset(tile, int(seed))
    isa.set_rng_seed(tile)


def rand(shape: Sequence[int], dtype: Any, buffer: Any = None, name: str = "") -> NkiTensor:
    """Return a tile of numbers of [0, 1)."""
    made = ndarray(shape, dtype, name=name)
    isa.rand2(made, 0.0, 1.0)
    return made


def dropout(x: NkiTensor, rate: float, dtype: Any = None) -> NkiTensor:
    """Return a copy of a tile whose elements are dropped with a probability."""
    made = _new_like(x, dtype)
    isa.dropout(made, x, rate)
    return made


def gather_flattened(data: NkiTensor, indices: NkiTensor, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """Return, for each partition, data's elements at its indices."""
    made = ndarray(indices.shape, dtype or data.dtype)
    isa.nc_n_gather(made, data, indices)
    return made
