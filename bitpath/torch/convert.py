"""Models whose layers, attention and other products have the bits of a machine."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from torch import Tensor, nn

from bitpath.golden.arrays.arguments import check_instance
from bitpath.torch.arithmetic import Arithmetic, arithmetic
from bitpath.torch.functions import Products, apply_linear


class MachineLinear(nn.Linear):
    """An `nn.Linear` that computes as `linear` does, with its arguments by name in `names`; `convert` makes it."""

    names: Mapping[str, Any]
    own: Arithmetic

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output, [..., out_features]."""
        return apply_linear(self.own, input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and the names for ``print(model)``."""
        return ", ".join(
            [super().extra_repr(), *(f"{name}={each}" for name, each in self.names.items() if each is not None)]
        )


def convert(
    model: nn.Module,
    *,
    format: str,
    machine: str | None = None,
    numerics: Any = None,
    backward_format: str | None = None,
    where: Callable[[str, nn.Module], bool] | Sequence[str] | None = None,
    **options: Any,
) -> nn.Module:
    """Return a copy of a model whose products have the bits of a machine; state_dict keeps its keys.

    `nn.Linear` layers become `MachineLinear`. In the forward function of `nn.Conv1d`, `nn.Conv2d`, `nn.Conv3d`,
    `nn.MultiheadAttention`, and of each module that torch does not define, the functions of torch that multiply are those of
    `machine`: scaled_dot_product_attention, matmul, bmm, einsum and others, with parameters of experts [E, K, N] too. A
    product belongs to the innermost module whose forward function makes it. Recurrent and transposed layers and `nn.Bilinear` stay torch's;
    `coverage` lists what a model has.

    Modules that are converted already take the new arithmetic. Copies of `nn.TransformerEncoderLayer` do not use torch's
    fused kernel, which would not call their layers.

    Parameters
    ----------
    model : of float32, BF16 or FP16; it stays as it is. Results have its dtype, or autocast's.
    format, machine, numerics, backward_format, options : as `linear` takes them.
    where : chooses modules: a function of name and module, or patterns of names such as "encoder.*.up"; None is all.

    Raises
    ------
    TypeError, ValueError : names or options that `linear` does not take; `where` is of another type or chooses no module; a
        model with nothing to convert.
    """
    check_instance("model", model, nn.Module)
    names = {
        "format": format,
        "machine": machine,
        "numerics": numerics,
        "backward_format": backward_format,
        **options,
    }
    own = arithmetic(**names)
    copy = deepcopy(model)
    _exchange(copy, choose(copy, where), names, own)
    return copy


_LAYERS = (nn.Linear, MachineLinear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.MultiheadAttention)


def candidates(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules whose own products `convert` can take, by name; other modules of torch call these, or none."""
    return {
        name: each
        for name, each in model.named_modules()
        if type(each) in _LAYERS or not type(each).__module__.startswith("torch.nn.modules.")
    }


def choose(model: nn.Module, where: Any) -> dict[str, nn.Module]:
    """Return the candidates that `where` of `convert` chooses; raise as that does."""
    found = candidates(model)
    if not found:
        kinds = sorted({type(each).__name__ for each in model.modules()})
        raise ValueError(f"model must have layers that multiply, not only {', '.join(kinds)}")
    if callable(where):
        chosen = {name: each for name, each in found.items() if where(name, each)}
    else:
        patterns = ["*"] if where is None else where
        if not isinstance(patterns, list | tuple) or not all(isinstance(each, str) for each in patterns):
            raise TypeError(f"where must be a function or a list of patterns, not {where!r}")
        chosen = {name: each for name, each in found.items() if any(map(partial(fnmatchcase, name), patterns))}
    if not chosen:
        raise ValueError(f"where must choose at least one module of the model, which has {_listed(found)}")
    return chosen


def _listed(names: Mapping[str, Any]) -> str:
    shown = [*map(repr, names)]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:5], f"... {shown[-1]} ({len(shown)} in all)"])


def _exchange(model: nn.Module, chosen: Mapping[str, nn.Module], names: Mapping[str, Any], own: Arithmetic) -> None:
    """Convert chosen modules of a model in place."""
    for each in chosen.values():
        if type(each) in (nn.Linear, MachineLinear):
            # Parameters, hooks, and every place in the model that shares the layer stay.
            each.__class__ = MachineLinear
            each.names, each.own = names, own
        else:
            _set_scope(each, own)
    found = candidates(model)
    outer = [name for name, each in found.items() if getattr(scope_of(each), "own", None) is not None]
    for name, each in found.items():
        converted = type(each) is MachineLinear or scope_of(each) is not None
        if not converted and any(f".{name}".startswith(f".{around}." if around else ".") for around in outer):
            # Its products belong to it, not to the converted module around it.
            _set_scope(each, None)
    for each in model.modules():
        if isinstance(each, nn.TransformerEncoderLayer):
            each.activation_relu_or_gelu = 0
        elif isinstance(each, nn.TransformerEncoder):
            each.use_nested_tensor = False


class Scope(Products):
    """The arithmetic of a module's own products, as a mode that hooks enter and leave."""

    def enter(self, *_: Any) -> None:
        """Enter the mode before the module's forward function."""
        self.__enter__()

    def leave(self, *_: Any) -> None:
        """Leave the mode after it, or after its exception."""
        self.__exit__(None, None, None)

    def hook(self, module: nn.Module) -> list[Any]:
        """Hook a module and return the handles that remove the hooks."""
        return [
            module.register_forward_pre_hook(self.enter, prepend=True),
            module.register_forward_hook(self.leave, always_call=True),
        ]


def scope_of(module: nn.Module) -> Scope | None:
    """Return the scope of a module that `convert` converted or left."""
    return getattr(module, "machine_scope", None)


def _set_scope(module: nn.Module, own: Arithmetic | None) -> None:
    scope = scope_of(module)
    if scope is None:
        module.machine_scope = Scope(own)
        module.machine_scope.hook(module)
    else:
        scope.own = own
