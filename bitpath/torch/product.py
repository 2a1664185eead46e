"""The product of two tensors in a machine's arithmetic: an operator, its gradient, and prepared right operands."""

from __future__ import annotations  # the pages are built without torch, whose types are not there to join with None

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from bitpath.golden.matmul import Prepared, find_arguments, matmul, prepare
from bitpath.torch.arithmetic import Arithmetic, arguments, part_of


def product(a: Tensor, b: Tensor, own: Arithmetic, rounded: torch.dtype | None = None) -> Tensor:
    """Return ``a @ b`` in the bits of a machine, float32 [..., M, N]; it has gradients, forward ones too, and may be batched by vmap.

    Parameters
    ----------
    a, b : floats [..., M, K] and [..., K, N]; leading axes broadcast. No numbers, or K = 0, give zeros.
    own : the arithmetic.
    rounded : dtype that both are rounded to first, as autocast does; None rounds only to float32.
    """
    call = _matmul if torch.compiler.is_compiling() else _Product.apply
    return call(a, b, own.forward, own.backward, rounded)


_NAME, _SCHEMA = "bitpath::matmul", "(Tensor a, Tensor b, str forward, str? backward, ScalarType? rounded) -> Tensor"


@torch.library.custom_op(_NAME, mutates_args=(), schema=_SCHEMA)
def _matmul(a: Tensor, b: Tensor, forward: str, backward: str | None, rounded: torch.dtype | None) -> Tensor:
    shape = _shape(a, b)
    if not (a.numel() and b.numel()):
        return a.new_zeros(shape, dtype=torch.float32)
    if part_of(forward) is None:
        found = matmul(_array(a, rounded), _right(b, forward, rounded))
    else:
        found = _in_part(_array(a, rounded), _array(b, rounded), forward)
    return torch.from_numpy(np.ascontiguousarray(found)).to(a.device)


@torch.library.register_fake(_NAME)
def _(a: Tensor, b: Tensor, forward: str, backward: str | None, rounded: torch.dtype | None) -> Tensor:
    return a.new_empty(_shape(a, b), dtype=torch.float32)


def _shape(a: Tensor, b: Tensor) -> tuple[int, ...]:
    for name, each in (("a", a), ("b", b)):
        if not each.is_floating_point():
            raise TypeError(f"{name} must hold floats, not {each.dtype}")
    if min(a.dim(), b.dim()) < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"a and b must have shapes [..., M, K] and [..., K, N], not {[*a.shape]} and {[*b.shape]}")
    if a.device != b.device:
        raise ValueError(f"a and b must be on one device, not {a.device} and {b.device}")
    return *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]


def _array(x: Tensor, rounded: torch.dtype | None) -> np.ndarray:
    return _rounded(x.detach(), rounded).float().cpu().numpy()


def _in_part(a: np.ndarray, b: np.ndarray, forward: str) -> np.ndarray:
    """Return a product with the errors of its operands alone, or of its products and sums alone, in float64, as float32."""
    given = dict(arguments(forward))
    record, own = find_arguments(given.pop("machine"), given.pop("format"), given.pop("numerics", None), given)
    sides = (record.numbers(name, x, **own).astype(np.float64) for name, x in (("a", a), ("b", b)))
    found = np.matmul(*sides)
    if part_of(forward) == "sums":
        found = np.matmul(a.astype(np.float64), b.astype(np.float64)) + (matmul(a, b, **arguments(forward)) - found)
    return found.astype(np.float32)


def _rounded(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    return x if dtype is None else x.to(dtype)


# Gradients: straight-through, as if the product were exact; their own two products are in float32 or in a format.


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.backward_arithmetic, ctx.rounded = inputs[3:]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    # Checkpoints recompute them, once.
    saved = ctx.saved_tensors
    a, b = (_rounded(each, ctx.rounded) for each in saved)
    multiply = _multiplier(ctx.backward_arithmetic)
    for_a = multiply(gradient, b.mT) if ctx.needs_input_grad[0] else None
    for_b = None
    if ctx.needs_input_grad[1]:
        # Of a matrix that all leading axes share, the sum over them is part of the product.
        left, right = (a.flatten(0, -2), gradient.flatten(0, -2)) if b.dim() == 2 else (a, gradient)
        for_b = multiply(left.mT, right)
    found = [
        None if each is None else each.sum_to_size(of.shape).to(of.dtype)
        for each, of in zip((for_a, for_b), saved, strict=True)
    ]
    return *found, None, None, None


def _multiplier(backward: str | None) -> Any:
    if backward is not None:
        return partial(product, own=Arithmetic(backward, backward))
    return _float_product


def _float_product(a: Tensor, b: Tensor) -> Tensor:
    # A gradient that is computed within `machine` is no product of the model.
    with torch._C.DisableTorchFunction():
        return a.float() @ b.float()


class _Product(torch.autograd.Function):
    """`_matmul` for torch's function transforms, which take no operators with gradients."""

    @staticmethod
    def forward(a: Tensor, b: Tensor, forward: str, backward: str | None, rounded: torch.dtype | None) -> Tensor:
        return _matmul(a, b, forward, backward, rounded)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:2])

    backward = staticmethod(_backward)

    @staticmethod
    def jvp(ctx: Any, for_a: Tensor | None, for_b: Tensor | None, *_: None) -> Tensor:
        a, b = (_rounded(each, ctx.rounded) for each in ctx.saved_tensors)
        multiply = _multiplier(ctx.backward_arithmetic)
        parts = [multiply(for_a, b)] if for_a is not None else []
        parts += [multiply(a, for_b)] if for_b is not None else []
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(_info: Any, places: tuple[Any, ...], a: Tensor, b: Tensor, *names: Any) -> tuple[Tensor, int]:
        axes = max(each.dim() - (place is not None) for each, place in zip((a, b), places, strict=False))
        sides = [_in_front(each, place, axes) for each, place in zip((a, b), places, strict=False)]
        return _Product.apply(*sides, *names), 0


def _in_front(x: Tensor, place: int | None, axes: int) -> Tensor:
    """Return an operand with its batch's axis before as many others as both operands have."""
    if place is None:
        return x
    x = x.movedim(place, 0)
    return x.reshape(x.shape[0], *[1] * (axes + 1 - x.dim()), *x.shape[1:])


torch.library.register_autograd(_NAME, _backward, setup_context=_save)


# A weight is converted once for each of its values, and kept as long as it lives.


class _Kept(NamedTuple):
    """A converted view of a parameter, and what it was made from.

    Attributes
    ----------
    storage : the numbers; no other tensor gets their address as long as it is held.
    version : torch's count of the changes in place.
    names : arithmetic and dtype.
    """

    storage: torch.UntypedStorage
    version: int
    names: tuple[str, torch.dtype | None]
    elements: int
    right: Prepared


_KEPT: Any = WeakIdKeyDictionary()
"""Views of each parameter by dtype, place, shape and strides, the oldest first."""
_MOST = 2
"""Elements that are kept, in units of the parameter's own: a weight and its transpose, for the gradient."""


def _right(b: Tensor, forward: str, rounded: torch.dtype | None) -> Prepared:
    owner = b if b._base is None else b._base
    if not isinstance(owner, nn.Parameter) or b.is_inference() or b.numel() > _MOST * owner.numel():
        return prepare(_array(b, rounded), **arguments(forward))
    views = _KEPT.setdefault(owner, {})
    view, storage = (b.dtype, b.storage_offset(), b.shape, b.stride()), b.untyped_storage()
    kept = views.pop(view, None)
    if kept is None or (kept.storage.data_ptr(), *kept[1:3]) != (storage.data_ptr(), b._version, (forward, rounded)):
        while sum(each.elements for each in views.values()) + b.numel() > _MOST * owner.numel():
            views.pop(next(iter(views)))
        kept = _Kept(
            storage, b._version, (forward, rounded), b.numel(), prepare(_array(b, rounded), **arguments(forward))
        )
    views[view] = kept
    return kept.right
