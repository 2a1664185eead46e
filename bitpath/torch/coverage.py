"""The products of a model, in multiply-accumulates: which are in a machine's arithmetic, and which torch computes."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from bitpath.golden.arrays.arguments import check_instance
from bitpath.golden.tables import as_html, as_text
from bitpath.torch.arithmetic import shown
from bitpath.torch.convert import MachineLinear, scope_of


@dataclass(frozen=True)
class Product:
    """The products of one module.

    Attributes
    ----------
    module : name of the module whose forward function makes them; "" is the model itself.
    kind : name of its class.
    calls : number of products; 0 where weights are counted.
    amount : multiply-accumulates, or weights.
    format : format of the products; None where torch computes them.
    """

    module: str
    kind: str
    calls: int
    amount: int
    format: str | None


@dataclass(frozen=True)
class Coverage:
    """The products of a model: those in a machine's arithmetic, and those left to torch.

    It shows itself as a table: as text, and as HTML in a notebook.

    Attributes
    ----------
    products : in the order of their first calls.
    unit : "MACs" of one forward call, or "weights".
    modules : number of the model's modules by the name of their class.
    """

    products: tuple[Product, ...]
    unit: str
    modules: Mapping[str, int]

    @property
    def total(self) -> int:
        """MACs, or weights, of all products."""
        return sum(each.amount for each in self.products)

    @property
    def converted(self) -> float:
        """Percent of them in a machine's arithmetic; 0 for a model without products."""
        return 100 * sum(each.amount for each in self.products if each.format) / max(self.total, 1)

    def __str__(self) -> str:
        if not self.products:
            return self._summary()
        return f"{as_text(self._rows(), left=3)}\n{self._summary()}"

    def _repr_html_(self) -> str:
        return f"{as_html(self._rows())}<p>{self._summary()}</p>"

    def to_json(self) -> str:
        """Return the products and the totals as a JSON object."""
        found = {"unit": self.unit, "total": self.total, "converted_percent": self.converted}
        return json.dumps(found | {"products": [asdict(each) for each in self.products]}, indent=2)

    def _summary(self) -> str:
        if self.products:
            return f"{self.converted:.1f} % of {self.total:,} {self.unit} are in a machine's arithmetic."
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.modules.items())
        return f"The model makes no products that are counted; it has {kinds}."

    def _rows(self) -> list[tuple[str, ...]]:
        head = ("module", "class", "format", "calls", self.unit, "percent")
        return [
            head,
            *(
                (
                    each.module or "(model)",
                    each.kind,
                    each.format or "torch",
                    str(each.calls or "-"),
                    f"{each.amount:,}",
                    f"{100 * each.amount / max(self.total, 1):.1f}",
                )
                for each in self.products
            ),
        ]


def coverage(model: nn.Module, inputs: Any = None) -> Coverage:
    """Return the products of a model, converted or not, in MACs of one forward call or in weights.

    Parameters
    ----------
    model : a module of torch, before or after `convert`; it runs in eval mode, without gradients.
    inputs : an example: a tensor, a tuple or list of arguments, or a dict of named ones. None counts weights of two axes or more instead,
        without those of `nn.Embedding`. A weight counts as converted if `convert` chose its module, though another function than `machine` takes may
        multiply by it: only MACs show that.

    Raises
    ------
    TypeError : no module. Errors of the model's own forward function pass.
    """
    check_instance("model", model, nn.Module)
    kinds = Counter(type(each).__name__ for each in model.modules())
    if inputs is None:
        return Coverage(tuple(_weights(model)), "weights", kinds)
    counter = _Counter()
    # That kernel is made of products that are counted.
    with evaluated(model), sdpa_kernel(SDPBackend.MATH), ExitStack() as hooks, counter:
        for name, each in model.named_modules():
            hooks.enter_context(counter.within(each, name))
        run(model, inputs)
    products = [
        Product(module, kind, calls, macs, name) for (module, kind, name), (calls, macs) in counter.found.items()
    ]
    return Coverage(tuple(products), "MACs", kinds)


@contextmanager
def evaluated(model: nn.Module) -> Iterator[None]:
    """A context in which a model runs in eval mode without gradients, and calls its layers instead of fused kernels."""
    training = [each for each in model.modules() if each.training]
    fast = torch.backends.mha.get_fastpath_enabled()
    model.eval()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for each in training:
            each.training = True


def run(model: nn.Module, inputs: Any) -> Any:
    """Call a model with example inputs as `coverage` takes them."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple | list) else model(inputs)


def _weights(model: nn.Module) -> Iterator[Product]:
    for name, each in model.named_modules():
        own = (
            0
            if isinstance(each, nn.Embedding)
            else sum(x.numel() for x in each.parameters(recurse=False) if x.dim() > 1)
        )
        if own:
            yield Product(name, type(each).__name__, 0, own, _format(each))


def _format(module: nn.Module) -> str | None:
    own = module.own if isinstance(module, MachineLinear) else getattr(scope_of(module), "own", None)
    return None if own is None else shown(own.forward)


class _Counter(TorchDispatchMode):
    """Counts the products of a forward call as they reach torch's kernels, and whose they are.

    Attributes
    ----------
    found : calls and MACs by module, class and format.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[tuple[str, str, str | None], list[int]] = {}
        self._running: list[tuple[str, str]] = []

    @contextmanager
    def within(self, module: nn.Module, name: str) -> Iterator[None]:
        """A context in which the products of a module's forward function count as its own."""
        place = (name, type(module).__name__)
        handles = [
            module.register_forward_pre_hook(lambda *_: self._running.append(place), prepend=True),
            module.register_forward_hook(lambda *_: self._leave(), always_call=True),
        ]
        try:
            yield
        finally:
            for each in handles:
                each.remove()

    def _leave(self) -> None:
        self._running.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Compute an operator, and count it."""
        result = func(*args, **(kwargs or {}))
        macs = _MACS.get(func.overloadpacket)
        if macs is not None:
            name = shown(args[2]) if func.overloadpacket is torch.ops.bitpath.matmul else None
            entry = self.found.setdefault((*self._running[-1], name), [0, 0])
            entry[0] += 1
            entry[1] += macs(args, result)
        return result


def _pairs(place: int) -> Callable[[Any, Tensor], int]:
    """Return the MACs of ``args[place] @ args[place + 1]``, whose rows are not broadcast."""
    return lambda args, result: args[place].shape[-1] * result.numel()


def _of_convolution(args: Any, result: Tensor) -> int:
    weight, transposed = args[1], args[6]
    return (args[0] if transposed else result).numel() * math.prod(weight.shape[1:])


def _of_recurrent(args: Any, result: Any) -> int:
    # Each step multiplies by the weights of the input and of the state.
    return math.prod(args[0].shape[:-1]) * (args[1].numel() + args[2].numel())


def _of_bilinear(args: Any, result: Tensor) -> int:
    # Three operands, each with axes of 1 put in at places of its own; the first two are multiplied along all axes.
    shapes = [_with_ones(x.shape, places) for x, places in zip(args[:3], args[3:6], strict=True)]
    return math.prod(torch.broadcast_shapes(*shapes))


def _with_ones(shape: Any, places: Any) -> list[int]:
    found = list(shape)
    for each in sorted(places):
        found.insert(each, 1)
    return found


_ATEN = torch.ops.aten
_MACS: Mapping[Any, Callable[[Any, Tensor], int]] = {
    torch.ops.bitpath.matmul: _pairs(0),
    **dict.fromkeys((_ATEN.mm, _ATEN.bmm, _ATEN.mv, _ATEN.dot), _pairs(0)),
    **dict.fromkeys((_ATEN.addmm, _ATEN.baddbmm, _ATEN.addmv), _pairs(1)),
    **({_ATEN._grouped_mm: _pairs(0)} if hasattr(_ATEN, "_grouped_mm") else {}),
    _ATEN.convolution: _of_convolution,
    _ATEN.mkldnn_rnn_layer: _of_recurrent,
    _ATEN._trilinear: _of_bilinear,
}
"""MACs of torch's operators that multiply, as their kernels are called in `evaluated`."""
