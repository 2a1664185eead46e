"""Torch's functions that multiply, with their products in a machine's arithmetic.

Operands are rounded as torch's own function would round them under `torch.autocast`, then to the format. Other operations
(bias, scale, mask, softmax) are in float32, and the result is rounded once, to the dtype that torch's own function gives.
"""

from __future__ import annotations  # as in product.py

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from itertools import chain, pairwise
from string import ascii_letters
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from bitpath.torch.arithmetic import Arithmetic, arithmetic
from bitpath.torch.product import product


def linear(
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
    *,
    format: str,
    machine: str | None = None,
    numerics: Any = None,
    backward_format: str | None = None,
    **options: Any,
) -> Tensor:
    """Return ``x @ w.T + bias`` with the product in the bits of a machine, as `bitpath.matmul` gives them.

    The product is the custom operator ``bitpath::matmul``, which `torch.compile` keeps whole. It runs on the CPU; tensors
    of other devices are copied. A weight that is an `nn.Parameter`, or a view of one, is converted once for each of its
    values: after `load_state_dict`, a step of an optimizer, assignment, or another change in place that torch counts. It
    does not count writes through ``w.data`` or numpy.

    Parameters
    ----------
    x, w : floats [..., K] and [N, K], on one device. Under `torch.autocast` they are rounded to its dtype first. float64 is
        rounded to float32, then to the format.
    bias : [N], added in float32 after the product. That is chosen: each machine has several units that could add it.
    format, machine : as `bitpath.matmul` takes them, without the formats of integers.
    numerics : a preset's name, the path of a JSON file, or a record, as `bitpath.matmul` takes it; None is the machine's
        default.
    backward_format : format of the gradient's two products, ``gradient @ w`` and ``x.T @ gradient``. None computes them in
        float32. The gradient is straight-through: it takes the product as exact.
    options : further arguments of the machine's `matmul`, such as `k_order` of trainium3 or `chip` of tensix.

    Returns
    -------
    [..., N] on the device of `x`, of its dtype or of autocast's.

    Raises
    ------
    TypeError, ValueError : shapes, dtypes, names or options other than these.
    """
    own = arithmetic(format=format, machine=machine, numerics=numerics, backward_format=backward_format, **options)
    return apply_linear(own, x, w, bias)


# Torch's own functions. Each takes the arithmetic, then the arguments of torch's function; NotImplemented leaves a call to torch.


def _multiply(own: Arithmetic, a: Tensor, b: Tensor) -> tuple[Tensor, torch.dtype]:
    """Return ``a @ b`` in float32, and the dtype of torch's own result."""
    kind = a.device.type
    if a.dtype == torch.float64 or not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
        return product(a, b, own), a.dtype
    rounded = torch.get_autocast_dtype(kind)
    return product(a, b, own, rounded), rounded


def apply_linear(own: Arithmetic, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return what `linear` returns."""
    if weight.dim() != 2 or not input.dim() or input.shape[-1] != weight.shape[1]:
        raise ValueError(f"x and w must have shapes [..., K] and [N, K], not {[*input.shape]} and {[*weight.shape]}")
    result, dtype = _multiply(own, input if input.dim() > 1 else input[None], weight.T)
    if bias is not None:
        result = result + bias.to(dtype).float()
    return result.reshape(*input.shape[:-1], weight.shape[0]).to(dtype)


def _matmul(own: Arithmetic, input: Tensor, other: Tensor) -> Tensor:
    result, dtype = _multiply(
        own, input if input.dim() > 1 else input[None], other if other.dim() > 1 else other[:, None]
    )
    if other.dim() == 1:
        result = result.squeeze(-1)
    if input.dim() == 1:
        result = result.squeeze(-1 if other.dim() == 1 else -2)
    return result.to(dtype)


def _mm(own: Arithmetic, input: Tensor, mat2: Tensor) -> Tensor:
    return _matmul(own, input, mat2)


def _mv(own: Arithmetic, input: Tensor, vec: Tensor) -> Tensor:
    return _matmul(own, input, vec)


def _addmm(own: Arithmetic, input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    result, dtype = _multiply(own, mat1, mat2)
    # A beta of 0 ignores the input, NaN included.
    return (alpha * result + (beta * input.to(dtype).float() if beta else 0)).to(dtype)


def _baddbmm(
    own: Arithmetic, input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return _addmm(own, input, batch1, batch2, beta=beta, alpha=alpha)


def _grouped_mm(
    own: Arithmetic, input: Tensor, mat2: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    if bias is not None or out_dtype is not None or input.dim() > 2 or mat2.dim() < 3:
        return NotImplemented
    # Each expert has the rows up to its offset; those after the last one have no result.
    parts = [
        _matmul(own, input[start:end], mat2[place]) for place, (start, end) in enumerate(pairwise([0, *offs.tolist()]))
    ]
    rest = input.shape[0] - sum(len(each) for each in parts)
    return torch.cat([*parts, parts[0].new_zeros(rest, mat2.shape[-1])])


def _einsum(own: Arithmetic, equation: Any, *operands: Any) -> Any:
    """Return a sum of products of two tensors as one batched product; letters of one of them alone are summed first."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    if not isinstance(equation, str) or len(tensors) != 2 or not all(each.is_floating_point() for each in tensors):
        return NotImplemented
    terms, output = _spelled(equation, [each.dim() for each in tensors])
    shared = set(terms[0]) & set(terms[1])
    summed = [letter for letter in terms[0] if letter in shared and letter not in output]
    if not summed or any(len(set(term)) < len(term) for term in (*terms, output)):
        return NotImplemented
    sizes: dict[str, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    batch = [letter for letter in output if letter in shared]
    rows, columns = ([letter for letter in output if letter in term and letter not in shared] for term in terms)

    def matrices(x: Tensor, term: str, *axes: list[str]) -> Tensor:
        order = [*batch, *chain(*axes)]
        alone = [place for place, letter in enumerate(term) if letter not in order]
        x = x.sum(alone) if alone else x
        term = "".join(letter for letter in term if letter in order)
        x = x.permute([term.index(letter) for letter in order]).expand([sizes[letter] for letter in order])
        return x.reshape(
            [*(sizes[letter] for letter in batch), *(math.prod([sizes[letter] for letter in each]) for each in axes)]
        )

    result = _matmul(own, matrices(tensors[0], terms[0], rows, summed), matrices(tensors[1], terms[1], summed, columns))
    found = [*batch, *rows, *columns]
    return result.reshape([sizes[letter] for letter in found]).permute([found.index(letter) for letter in output])


def _spelled(equation: str, axes: Sequence[int]) -> tuple[list[str], str]:
    """Return the terms and the output of an equation, with letters for "..." and for an output that is not given."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    free = [letter for letter in ascii_letters if letter not in equation]
    # The axes of "..." are aligned at the last one.
    dots = [
        "".join(free[len(free) - each + len(term.replace("...", "")) :]) for term, each in zip(terms, axes, strict=True)
    ]
    if not arrow:
        once = sorted(letter for letter in {*inputs} - {*",."} if inputs.count(letter) == 1)
        output = "".join(["..." if "..." in inputs else "", *once])
    terms = [term.replace("...", own) for term, own in zip(terms, dots, strict=True)]
    return terms, output.replace("...", max(dots, key=len))


def _attention(
    own: Arithmetic,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scores and values are products; scale, mask, softmax and dropout are float32, and the weights are rounded to the dtype.

    The query heads of a group stand as rows, so that each key and value is converted once.
    """
    groups = query.shape[-3] // key.shape[-3] if enable_gqa else 1
    scores, dtype = _multiply(own, _together(query, groups), key.mT)
    scores = _apart(scores, groups) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None:
        masked = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if masked else scores + attn_mask.float()
    # A row without keys gives zeros.
    weights = scores.softmax(-1).masked_fill(scores.isneginf().all(-1, keepdim=True), 0)
    weights = functional.dropout(weights, dropout_p)
    result, _ = _multiply(own, _together(weights.to(dtype), groups), value)
    return _apart(result, groups).to(dtype)


def _together(x: Tensor, groups: int) -> Tensor:
    """Return [..., heads, rows, n] as [..., heads / groups, groups * rows, n]."""
    return x if groups == 1 else x.unflatten(-3, (-1, groups)).flatten(-3, -2)


def _apart(x: Tensor, groups: int) -> Tensor:
    return x if groups == 1 else x.unflatten(-2, (groups, -1)).flatten(-4, -3)


def _convolution(
    own: Arithmetic,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | str | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """A product for each group: rows are the output's places, K runs over channels, then over the kernel."""
    axes = weight.dim() - 2
    kernel = weight.shape[2:]
    strides, dilations = _each(stride, axes), _each(dilation, axes)
    x = input if input.dim() > axes + 1 else input[None]
    if padding == "same":
        whole = [gap * (size - 1) for gap, size in zip(dilations, kernel, strict=True)]
        sides = [(each // 2, each - each // 2) for each in whole]
    else:
        sides = [(each, each) for each in _each(0 if isinstance(padding, str) else padding, axes)]
    x = functional.pad(x, [*chain(*reversed(sides))])
    for axis, (size, step, gap) in enumerate(zip(kernel, strides, dilations, strict=True), 2):
        x = x.unfold(axis, gap * (size - 1) + 1, step)[..., ::gap]
    # [B, C, *places, *kernel] becomes [groups, B * places, C / groups * kernel].
    batch, places = x.shape[0], x.shape[2 : 2 + axes]
    x = x.unflatten(1, (groups, -1)).movedim(2, 2 + axes).movedim(1, 0)
    rows = x.reshape(groups, batch * math.prod(places), -1)
    columns = weight.reshape(groups, weight.shape[0] // groups, -1).mT
    # One group is a matrix.
    result, dtype = _multiply(own, rows[0], columns[0]) if groups == 1 else _multiply(own, rows, columns)
    result = result.reshape(groups, batch, *places, -1).movedim(-1, 2).movedim(0, 1).flatten(1, 2)
    if bias is not None:
        result = result + bias.to(dtype).float().reshape(-1, *[1] * axes)
    return (result if input.dim() > axes + 1 else result[0]).to(dtype)


def _each(value: int | Sequence[int], axes: int) -> Sequence[int]:
    found = [value] if isinstance(value, int) else [*value]
    return found * axes if len(found) == 1 else found


_FUNCTIONS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    torch.matmul: _matmul,
    torch.linalg.matmul: _matmul,
    Tensor.matmul: _matmul,
    Tensor.__matmul__: _matmul,
    torch.mm: _mm,
    Tensor.mm: _mm,
    torch.bmm: _mm,
    Tensor.bmm: _mm,
    torch.mv: _mv,
    Tensor.mv: _mv,
    torch.addmm: _addmm,
    Tensor.addmm: _addmm,
    torch.baddbmm: _baddbmm,
    Tensor.baddbmm: _baddbmm,
    torch.einsum: _einsum,
    functional.linear: apply_linear,
    functional.scaled_dot_product_attention: _attention,
    **dict.fromkeys((functional.conv1d, functional.conv2d, functional.conv3d), _convolution),
    # Products of experts, in newer versions of torch.
    **({torch._grouped_mm: _grouped_mm} if hasattr(torch, "_grouped_mm") else {}),
}
_TAKEN = {own: frozenset(signature(own).parameters) for own in _FUNCTIONS.values()}

if isinstance(
    functional.multi_head_attention_forward, FunctionType
):  # torch itself, not what the pages put in its place
    # Torch's own function first asks whether a mode replaces it as a whole; this one does not ask.
    _MULTI_HEAD = FunctionType(
        functional.multi_head_attention_forward.__code__,
        {**vars(functional), "has_torch_function": lambda _: False},
        argdefs=functional.multi_head_attention_forward.__defaults__,
    )


class Products(TorchFunctionMode):
    """The functions of torch that multiply have an arithmetic, as `machine` says; None leaves them to torch."""

    def __init__(self, own: Arithmetic | None):
        super().__init__()
        self.own = own

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Compute a function of torch."""
        kwargs = kwargs or {}
        if func is functional.multi_head_attention_forward:
            with self:
                return _MULTI_HEAD(*args, **kwargs)
        if func not in _FUNCTIONS:
            return func(*args, **kwargs)
        if self.own is None:
            # The modes around this one do not see it.
            with torch._C.DisableTorchFunction():
                return func(*args, **kwargs)
        own = _FUNCTIONS[func]
        operands = [each for each in chain(args, kwargs.values()) if isinstance(each, Tensor)][:2]
        found = NotImplemented
        if kwargs.keys() <= _TAKEN[own] and all(each.is_floating_point() for each in operands):
            found = own(self.own, *args, **kwargs)
        return func(*args, **kwargs) if found is NotImplemented else found


class machine(Products):  # noqa: N801 (a context is used as a function)
    """A context in which torch's products have the bits of a machine::

        with bitpath.torch.machine(format="mx9"):
            y = model(x)

    It takes matmul, ``@``, mm, bmm, mv, addmm, baddbmm, einsum of two operands, grouped_mm, linear, conv1d, conv2d, conv3d,
    scaled_dot_product_attention and multi_head_attention_forward, called from Python, of floats. Other functions stay
    torch's: see `coverage`. Contexts nest; the inner one counts.

    Parameters
    ----------
    format, machine, numerics, backward_format, options : as `linear` takes them.

    Raises
    ------
    TypeError, ValueError : as `linear`.
    """

    def __init__(
        self,
        *,
        format: str,
        machine: str | None = None,
        numerics: Any = None,
        backward_format: str | None = None,
        **options: Any,
    ):
        super().__init__(
            arithmetic(format=format, machine=machine, numerics=numerics, backward_format=backward_format, **options)
        )
