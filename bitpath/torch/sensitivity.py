"""The loss of a model's output with one layer at a time in a format."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor, nn

from bitpath.golden.arrays.arguments import check_instance
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.losses import kl_divergence, relative_rms
from bitpath.golden.tables import as_html, as_text
from bitpath.torch.arithmetic import Arithmetic, arithmetic, part
from bitpath.torch.convert import Scope, candidates, choose
from bitpath.torch.coverage import coverage, evaluated, run

Formats = Iterable[str] | Mapping[str, Mapping[str, Any]]
Metric = Callable[[Any, Any], float]
Where = Callable[[str, nn.Module], bool] | Sequence[str] | None


@dataclass(frozen=True)
class Sensitivity:
    """Losses of a model's output in formats: of one module or group of modules at a time, and of all of them.

    It shows itself as a table: as text, and as HTML in a notebook.

    Attributes
    ----------
    metric : name of the metric.
    losses : the metric for each format, by module or group; "(all)" is all of them, "(model)" the model's own products.
    """

    metric: str
    losses: Mapping[str, Mapping[str, float]]

    def __str__(self) -> str:
        return as_text(self._rows(), left=1)

    def _repr_html_(self) -> str:
        return as_html(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the attributes as a JSON object."""
        return json.dumps(self.to_dict(), indent=2)

    def _rows(self) -> list[tuple[str, ...]]:
        names = next(iter(self.losses.values()))
        rows = [(name, *(f"{each[name]:.3g}" for each in self.losses.values())) for name in names]
        return [(self.metric, *self.losses), *rows]


def sensitivity(
    model: nn.Module,
    inputs: Any,
    formats: Formats,
    *,
    metric: Metric | None = None,
    where: Where | Mapping[str, Where] = None,
    split: bool = False,
    progress: Progress | None = None,
) -> Sensitivity:
    """Return the losses of a model's output in each format: of one module or group of modules at a time, and of all.

    A run is a forward call in eval mode. Its output is compared with that of the model as it is. The modules are those
    whose products `convert` takes and that make some with these inputs; modules that are converted already stay as they
    are.

    Parameters
    ----------
    model : a module of torch.
    inputs : as `coverage` takes them. The output is a tensor, a tuple or list whose first one counts, or has `logits`.
    formats : names of formats, or for each title the arguments of `linear` by name:
        ``{"mxfp4 adjacent": {"format": "mxfp4", "k_order": "adjacent"}}``.
    metric : takes an output and the model's own, tensors, and returns a number. None is `kl_divergence` for an output
        with `logits`, else `relative_rms`.
    where : modules, each a row, as `convert` takes it; or for each row's title such a choice, whose modules are in the
        format together: ``{"up": ["*.up"], "block 0": ["blocks.0.*"]}``.
    split : True for two further columns of each format, as `bitpath.compare` splits errors: those of the operands alone, and
        those of the products and sums alone.
    progress : is told the number of finished runs and of all.

    Raises
    ------
    TypeError, ValueError : as `convert`; no format; another output; a model without products.
    """
    check_instance("model", model, nn.Module)
    ways = _ways(formats, split)
    groups = _groups(model, where)
    made = {each.module for each in coverage(model, inputs).products if each.format is None}
    runs = {title: names & made for title, names in groups.items() if names & made}
    if not runs:
        raise ValueError("model must make products in the modules of where that are not converted")
    runs["(all)"] = set().union(*runs.values())
    losses: dict[str, dict[str, float]] = {}
    with evaluated(model):
        reference, has_logits = _output(run(model, inputs))
        if metric is None:
            metric = kl_divergence if has_logits else relative_rms
        for title, own in ways.items():
            losses[title] = {}
            for name, converted in runs.items():
                with _only(model, converted, own):
                    losses[title][name] = float(metric(_output(run(model, inputs))[0], reference))
                if progress is not None:
                    progress(sum(map(len, losses.values())), len(ways) * len(runs))
    return Sensitivity(getattr(metric, "__name__", "metric"), losses)


def _groups(model: nn.Module, where: Any) -> dict[str, set[str]]:
    if isinstance(where, Mapping):
        return {title: {*choose(model, each)} for title, each in where.items()}
    return {name or "(model)": {name} for name in choose(model, where)}


def _ways(formats: Any, split: bool) -> dict[str, Arithmetic]:
    if isinstance(formats, str) or not isinstance(formats, Iterable):
        raise TypeError(f"formats must be a list of names, not {formats!r}")
    named = formats if isinstance(formats, Mapping) else {each: {"format": each} for each in formats}
    if not named:
        raise ValueError("formats must name at least one format")
    found = {}
    for title, names in named.items():
        found[title] = own = arithmetic(**names)
        for each in ("operands", "sums") if split else ():
            found[f"{title}, {each}"] = own._replace(forward=part(own.forward, each))
    return found


def _output(found: Any) -> tuple[Tensor, bool]:
    """Return the tensor that counts in a model's output, and True if it is logits."""
    logits = found.get("logits") if isinstance(found, Mapping) else getattr(found, "logits", None)
    tensor = found[0] if logits is None and isinstance(found, tuple | list) and found else found
    tensor = tensor if logits is None else logits
    if not isinstance(tensor, Tensor):
        raise TypeError(f"model must return a tensor, a tuple of tensors or logits, not a {type(found).__name__}")
    return tensor, logits is not None


@contextmanager
def _only(model: nn.Module, names: set[str], own: Arithmetic) -> Iterator[None]:
    """A context in which the products of these modules have an arithmetic, and those of others stay."""
    handles = [
        handle
        for name, each in candidates(model).items()
        for handle in Scope(own if name in names else None).hook(each)
    ]
    try:
        yield
    finally:
        for each in handles:
            each.remove()
