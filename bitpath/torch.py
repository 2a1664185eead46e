"""Linear layers of torch with the bits of a machine: one layer, and models whose layers are exchanged.

This is the only module that imports torch, which bitpath's extra "torch" installs.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

try:
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError("bitpath.torch needs torch; run: pip install 'bitpath[torch]'") from None
from torch import Tensor, nn

from bitpath.golden.arrays.arguments import check_instance
from bitpath.golden.machines import find_machine
from bitpath.golden.matmul import find_numerics, matmul

__all__ = ["MachineLinear", "convert", "linear"]


def linear(
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
    *,
    format: str,
    machine: str | None = None,
    numerics: str | None = None,
) -> Tensor:
    """Return ``x @ w.T + bias`` with the product in the bits of a machine, as `bitpath.matmul` gives them.

    The gradient is straight-through, that of `torch.nn.functional.linear`. The product is the custom operator
    ``bitpath::matmul``, which `torch.compile` keeps whole. It runs on the CPU; tensors of other devices are copied.

    Parameters
    ----------
    x, w : floats [..., K] and [N, K], on one device. float64 is rounded to float32, then to the format.
    bias : [N], added in float32 after the product. That is chosen: each machine has several units that could add it.
    format, machine : as `bitpath.matmul` takes them, without the formats of integers.
    numerics : a preset's name, or the path of a JSON file as `bitpath.matmul` takes it; None is the machine's default.

    Returns
    -------
    float32 [..., N], on the device of `x`.

    Raises
    ------
    TypeError, ValueError : shapes, dtypes or names other than these.
    """
    _check_names(format, machine, numerics)
    product = _matmul(x, w, format, machine, numerics)
    return product if bias is None else product + bias.float()


class MachineLinear(nn.Linear):
    """An `nn.Linear` that computes as `linear` does, with its arguments by name in `names`; `convert` makes it."""

    names: Mapping[str, Any]

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output, float32 [..., out_features]."""
        return linear(input, self.weight, self.bias, **self.names)

    def extra_repr(self) -> str:
        """Return the sizes and the names for ``print(model)``."""
        return ", ".join([super().extra_repr(), *(f"{name}={each}" for name, each in self.names.items() if each)])


def convert(
    model: nn.Module,
    *,
    format: str,
    machine: str | None = None,
    numerics: str | None = None,
    where: Callable[[str, nn.Module], bool] | Sequence[str] | None = None,
) -> nn.Module:
    """Return a copy of a model whose `nn.Linear` layers are `MachineLinear`; state_dict keeps its keys.

    Layers that are `MachineLinear` already take the new format. Other subclasses of `nn.Linear` stay, and so does
    `nn.MultiheadAttention`, which multiplies by its weights itself. Copies of `nn.TransformerEncoderLayer` do not use
    torch's fused kernel, which would not call their layers.

    Parameters
    ----------
    model : of float32; it stays as it is.
    format, machine, numerics : as `linear` takes them.
    where : chooses layers: a function of name and module, or patterns of names such as "encoder.*.up"; None is all.

    Raises
    ------
    TypeError, ValueError : names that `linear` does not take; `where` is of another type or chooses no layer.
    """
    check_instance("model", model, nn.Module)
    _check_names(format, machine, numerics)
    copy = deepcopy(model)
    layers = {name: each for name, each in copy.named_modules() if type(each) in (nn.Linear, MachineLinear)}
    if callable(where):
        chosen = [each for name, each in layers.items() if where(name, each)]
    else:
        patterns = ["*"] if where is None else where
        if not isinstance(patterns, list | tuple) or not all(isinstance(each, str) for each in patterns):
            raise TypeError(f"where must be a function or a list of patterns, not {where!r}")
        chosen = [each for name, each in layers.items() if any(map(partial(fnmatchcase, name), patterns))]
    if not chosen:
        raise ValueError(f"where must choose at least one nn.Linear of the model, which has {[*layers]}")
    for layer in chosen:
        # Parameters, hooks, and every place in the model that shares the layer stay.
        layer.__class__ = MachineLinear
        layer.names = {"format": format, "machine": machine, "numerics": numerics}
    for each in copy.modules():
        if isinstance(each, nn.TransformerEncoderLayer):
            each.activation_relu_or_gelu = 0
        elif isinstance(each, nn.TransformerEncoder):
            each.use_nested_tensor = False
    return copy


@torch.compiler.assume_constant_result
def _check_names(format: str, machine: str | None, numerics: str | None) -> None:
    record = find_machine(machine, format)
    if format in record.integers:
        raise ValueError(f"format must be one of floats for a layer, not {format!r}")
    if numerics is not None:
        check_instance("numerics", numerics, str)
        find_numerics(record, numerics)


def _check_operands(x: Tensor, w: Tensor) -> None:
    for name, each in (("x", x), ("w", w)):
        if not each.is_floating_point():
            raise TypeError(f"{name} must hold floats, not {each.dtype}")
    if w.dim() != 2 or not x.dim() or x.shape[-1] != w.shape[1]:
        raise ValueError(f"x and w must have shapes [..., K] and [N, K], not {[*x.shape]} and {[*w.shape]}")
    if x.device != w.device:
        raise ValueError(f"x and w must be on one device, not {x.device} and {w.device}")


@torch.library.custom_op("bitpath::matmul", mutates_args=())
def _matmul(x: Tensor, w: Tensor, format: str, machine: str | None, numerics: str | None) -> Tensor:
    _check_operands(x, w)
    rows, columns = (each.detach().float().cpu().numpy() for each in (x.reshape(-1, x.shape[-1]), w.T))
    product = matmul(rows, columns, format=format, machine=machine, numerics=numerics)
    return torch.from_numpy(product).to(x.device).reshape(*x.shape[:-1], w.shape[0])


@_matmul.register_fake
def _(x: Tensor, w: Tensor, format: str, machine: str | None, numerics: str | None) -> Tensor:
    _check_operands(x, w)
    return x.new_empty(*x.shape[:-1], w.shape[0], dtype=torch.float32)


def _straight_through(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
    x, w = ctx.saved_tensors
    rows = gradient.reshape(-1, w.shape[0])
    for_x = (rows @ w.float()).reshape(x.shape).to(x.dtype)
    for_w = (rows.T @ x.reshape(-1, x.shape[-1]).float()).to(w.dtype)
    return for_x, for_w, None, None, None


_matmul.register_autograd(
    _straight_through, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2])
)
