"""Every value of each field of an operation beside legal ones, and which of them golden has."""

from collections.abc import Iterator
from typing import Any

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, VECTOR_SLOT, LoadOp, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.verif.aie_ml_v2.core.encoding import vector_name
from bitpath.verif.aie_ml_v2.core.programs import SHAPES
from bitpath.verif.kit.packing import pack

X, DM = {"index": 0, "size": 1}, {"index": 0, "size": 2}
_HERE = {"pointer": 3, "is_immediate": 1}
_OK = {"op": StoreOp.SRS, "source": {"index": 0, "size": 0}, "address": _HERE, "rounding": 12, "saturation": 1}


def every_value(config: AieTileConfig) -> Iterator[tuple[str, int, bool]]:
    """Yield every value of each field of an operation beside legal ones: slot and field, the bundle's word, and whether golden has it."""
    mac = {"op": VectorOp.INTEGER, "native": config.multiply.products[0], "to": 0}
    names = SHAPES[next(each for each in SHAPES if "_".join(each).upper() == config.multiply.products[0].name)]
    mac |= {side: vector_name(f"{kind}0") for side, kind in zip("ab", names, strict=True)}
    load = {"op": LoadOp.LOAD, "to": X, "address": _HERE}
    srs, push = _OK, {"op": StoreOp.PUSH, "source": DM, "rounding": 12}
    has = config.multiply.mx9
    for name, base, path, bits, legal in (
        ("lda op", load, ("op",), 3, {0, 1, 2, 3, 4}),
        ("ldb op", load, ("op",), 3, {0, 1, 2, 3, 4}),
        ("lda size", load, ("to", "size"), 2, {0, 1}),
        ("ldb index", load, ("to", "index"), 5, {each for each in range(4 * config.pairs) if each % 2 == 0}),
        ("lda mode", load, ("address", "mode"), 2, {AguMode.POST_MODIFY.value, AguMode.INDEXED.value}),
        ("ldb immediate", load, ("address", "immediate"), 10, {each % 1024 for each in range(-512, 512, 64)}),
        ("st op", srs, ("op",), 3, {0, 1, 3, 4}),
        ("st rounding", srs, ("rounding",), 4, {each.value for each in RoundingCode}),
        ("st saturation", srs, ("saturation",), 2, {each.value for each in Saturation}),
        ("st size", srs, ("source", "size"), 2, {0, 1, 2}),
        ("st index", srs, ("source", "index"), 5, set(range(4 * config.accumulators))),
        ("st immediate", srs, ("address", "immediate"), 10, {each % 1024 for each in range(-128, 128, 16)}),
        ("vec op", mac, ("op",), 2, {0, 1}),
        ("vec native", mac, ("native",), VECTOR_SLOT["native"].width, {config.multiply.products[0].value}),
        ("vec to", mac, ("to",), 3, set(range(config.accumulators))),
        ("vec a size", mac, ("a", "size"), 2, {mac["a"]["size"]}),
        ("vec b size", mac, ("b", "size"), 2, {mac["b"]["size"]}),
        *((("st push rounding", push, ("rounding",), 4, {each.value for each in RoundingCode}),) if has else ()),
    ):
        for value in range(1 << bits):
            fields = _with(base, path, value - (1 << bits) if path[-1] == "immediate" and value >> bits - 1 else value)
            yield name, pack(BUNDLE, {name.split()[0]: fields}), value in legal


def _with(fields: Any, path: tuple[str, ...], value: int) -> Any:
    """Return fields with another value in one of them."""
    name, *rest = path
    return fields | {name: _with(fields[name], tuple(rest), value) if rest else value}


ALIGNED = (
    ("a load of a W", "lda", {"op": LoadOp.LOAD, "to": {"index": 1, "size": 0}, "address": _HERE}, 32),
    ("a load of an X", "ldb", {"op": LoadOp.LOAD, "to": X, "address": _HERE}, 64),
    ("SRS of a bm to 16 bytes", "st", _OK, 16),
    ("SRS of a bm to 32 bytes", "st", _OK | {"wide": 1}, 32),
    ("SRS of a dm to 64 bytes", "st", _OK | {"source": DM}, 64),
)
"""Accesses with their slot and the bytes by which their addresses are multiples."""
