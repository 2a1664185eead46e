"""The matmuls of a language model in a machine's bits, and the sources of their errors one by one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.machines import Machine
from bitpath.sim.lm.model import LINEAR, Backend
from bitpath.sim.lm.plans import FLOAT32, W8A8, Plan, machine_of

Part = Literal["machine", "operands", "sums", "output"]
"""What of a matmul is the machine's:

- "machine": all of it, ``m(a, b)``;
- "operands": its conversion of the operands; their product is float64's, ``q(a) @ q(b)``;
- "sums": the errors of its products and sums alone, ``a @ b + (m(a, b) - q(a) @ q(b))``;
- "output": the rounding of the result to the format of the output alone.

Each result is then rounded to float32.
"""
OUTPUTS = {"float32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "fp16": np.dtype(np.float16)}
"""Formats to which a matmul's result is rounded to nearest even before the next operation reads it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the machines, for all formats of a run.

    Attributes
    ----------
    numerics : numerics by machine; they hold for the formats of the unit that they are of.
    others : further options of `bitpath.matmul`; each goes to the machines that have it.
    output : a name of `OUTPUTS`.
    """

    numerics: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    output: str = "float32"


@dataclass(frozen=True, eq=False)
class _Normed:
    """A norm's output in float32, and as FP8 rows [M, K] with their scales [M, 1]."""

    plain: np.ndarray
    rows: tuple[np.ndarray, np.ndarray]


def _quantised(x: np.ndarray, gamma: np.ndarray | None = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of RMSNorm-Quant as FP8 and scales; without gamma it quantises alone."""
    rows = trainium3.rmsnorm_quant(np.ascontiguousarray(x), gamma, quant_only=gamma is None, **options)
    return trainium3.unpack_rows(cast(np.ndarray, rows))


class Arithmetic(Backend):
    """Matmuls of a plan. Weights are converted at their first use and kept.

    Parameters
    ----------
    plan : the format of each matmul.
    part : see `Part`.
    options : of the machines.
    kept : converted weights, which further objects of the same options may share.
    first : number of the model's first block, of a model whose blocks before it are left out.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        part: Part = "machine",
        options: Options | None = None,
        kept: dict[Any, Any] | None = None,
        first: int = 0,
    ):
        self.first = first
        self.plan, self.part, self.options = plan, part, options or Options()
        self.kept = {} if kept is None else kept
        self.arguments = cache(self._arguments)

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        """Return the norm in float32, and for W8A8 the rows of RMSNorm-Quant too, whose epsilon is the model's in bfloat16."""
        plain = super().norm(block, place, x, gamma, epsilon)
        kinds = ("q", "k", "v") if place == "attention" else ("gate", "up")
        if not any(self.plan.format_of(kind, block + self.first) == W8A8 for kind in kinds):
            return plain
        own = gamma.astype(ml_dtypes.bfloat16)
        return _Normed(plain, _quantised(x, gamma=own, eps=float(np.float32(epsilon).astype(ml_dtypes.bfloat16))))

    def product(self, kind: str, block: int, a: Any, b: np.ndarray) -> np.ndarray:
        """Return ``a @ b`` as float32, by the plan."""
        block += self.first
        name = self.plan.format_of(kind, block)
        if name == W8A8:
            product = self._w8a8((name, kind, block), a, b)
            return product.astype(OUTPUTS[self.options.output]).astype(np.float32)
        a = a.plain if isinstance(a, _Normed) else a
        if name == FLOAT32:
            return np.matmul(a, b)
        record, arguments = self.arguments(name)
        linear = kind in LINEAR
        left, right = (x[np.newaxis] if linear else x for x in (a, b))
        if self.part == "output":
            product = left.astype(np.float64) @ right
        else:
            product = self._product(record, arguments, (name, kind, block) if linear else None, left, right)
        product = product.astype(OUTPUTS[self.options.output]).astype(np.float32)
        return product[0] if linear else product

    def _product(
        self, record: Machine, arguments: dict[str, Any], key: Any, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Return the product without the rounding of the output; `key` names weights, None an activation."""
        if self.part != "operands":
            prepared = self._once(key, "codes", lambda: record.prepare(np.ascontiguousarray(right), **arguments))
            result = record.multiply(np.ascontiguousarray(left), prepared)
            if self.part == "machine":
                return result
        numbers = self._once(key, "numbers", lambda: record.numbers("b", right, **arguments).astype(np.float64))
        rounded = record.numbers("a", left, **arguments).astype(np.float64) @ numbers
        return rounded if self.part == "operands" else left.astype(np.float64) @ right + (result - rounded)

    def _w8a8(self, key: Any, a: Any, w: np.ndarray) -> np.ndarray:
        """Return the product of rows by weights in W8A8, without the rounding of the output; the machine itself rounds to BF16."""
        plain, (data, scale) = (a.plain, a.rows) if isinstance(a, _Normed) else (a, _quantised(a))
        if self.part == "output":
            return plain.astype(np.float64) @ w
        if self.part != "operands":
            prepared = self._once(key, "codes", lambda: trainium3.prepare_w8a8(w))
            result = trainium3.multiply_w8a8(data, scale, prepared).astype(np.float64)
            if self.part == "machine":
                return result

        def numbers() -> np.ndarray:
            codes, scales = trainium3.quantize_channels(w)
            return codes.astype(np.float64) * scales

        rounded = (data.astype(np.float64) * scale) @ self._once(key, "numbers", numbers)
        return rounded if self.part == "operands" else plain.astype(np.float64) @ w + (result - rounded)

    def _once(self, key: Any, form: str, convert: Callable[[], Any]) -> Any:
        """Return a converted right operand; that of weights is kept."""
        if key is None:
            return convert()
        if (*key, form) not in self.kept:
            self.kept[*key, form] = convert()
        return self.kept[*key, form]

    def _arguments(self, name: str) -> tuple[Machine, dict[str, Any]]:
        """Return the machine of a format and all arguments of its functions."""
        record, own = machine_of(name)
        assert record is not None
        named = record.formats[own["format"]] if "format" in own else own
        numerics = self.options.numerics.get(record.name)
        if not isinstance(numerics, tuple({type(each.numerics) for each in record.presets.values()})):
            # The given numerics belong to the machine's other unit.
            numerics = None
        others = {option: value for option, value in self.options.others.items() if option in record.options}
        return record, {**named, "numerics": numerics, **others}
