"""Arguments of nki-library's qkv kernel, and what it computes in float64."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import nki, trainium3

BF16 = np.dtype(ml_dtypes.bfloat16)
EPS = 1e-6
HEADS, KEY_HEADS = 2, 1


@dataclass(frozen=True)
class Case:
    """A projection.

    Attributes
    ----------
    shape : batch, tokens and hidden size.
    head : size of a head; two heads of queries, one of keys and one of values.
    norm : "NO_NORM", "RMS_NORM" or "LAYER_NORM", in front.
    bias, adds, rope : whether a bias is added, two residuals are added in front, and heads are rotated.
    layout : of the result, "BSD" or "NBSd".
    mx, swizzled : MX weights and activations; whether the hidden dimension comes as four quarters of each 512.
    more : further arguments of the kernel.
    """

    shape: tuple[int, int, int]
    head: int = 64
    norm: str = "NO_NORM"
    bias: bool = False
    adds: bool = False
    rope: bool = False
    layout: str = "BSD"
    mx: bool = False
    swizzled: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return (HEADS + 2 * KEY_HEADS) * self.head

    def operands(self) -> dict[str, np.ndarray]:
        """Return random arrays by name, BF16."""
        rng = np.random.default_rng(3)
        batch, tokens, hidden = self.shape
        angles = [
            np.concatenate([half, half], axis=-1) for half in rng.uniform(-1, 1, (2, batch, tokens, self.head // 2))
        ]
        made = {
            "input": rng.standard_normal(self.shape),
            "mlp_prev": rng.standard_normal(self.shape),
            "attention_prev": rng.standard_normal(self.shape),
            "gamma_norm_weights": 1 + 0.2 * rng.standard_normal((1, hidden)),
            "layer_norm_bias": 0.2 * rng.standard_normal((1, hidden)),
            "weights": rng.standard_normal((hidden, self.columns)) / np.sqrt(hidden),
            "bias": rng.standard_normal((1, self.columns)),
            "cos_cache": angles[0],
            "sin_cache": angles[1],
        }
        return {name: values.astype(BF16) for name, values in made.items()}

    def arguments(self, types: ModuleType) -> dict[str, Any]:
        """Return the kernel's arguments; ``types`` is nki-library's module of enumerations."""
        given = self.operands()
        names = ["input"]
        names += ["mlp_prev", "attention_prev"] if self.adds else []
        names += ["gamma_norm_weights"] if self.norm != "NO_NORM" else []
        names += ["layer_norm_bias"] if self.norm == "LAYER_NORM" else []
        made: dict[str, Any] = {name: quarters(given[name]) if self.swizzled else given[name] for name in names}
        made |= {name: given[name] for name in ("cos_cache", "sin_cache") if self.rope}
        made |= {"bias": given["bias"]} if self.bias else {}
        if self.mx:
            data, scale = quantised(given["weights"])
            words = trainium3.pack_x4(data.reshape(len(data), -1))
            made["fused_qkv_weights"] = nki.host_tensor(words, "float8_e4m3fn_x4")
            made |= {"qkv_w_scale": scale, "is_h_dim_4h_transposed": self.swizzled}
            made |= {
                "weight_layout": types.QKVWeightLayout.MX_CONTIGUOUS,
                "quantization_type": types.QuantizationType.MX,
            }
        else:
            made["fused_qkv_weights"] = given["weights"]
        made |= {"fused_norm_type": getattr(types.NormType, self.norm), "norm_eps": EPS}
        made |= {"fused_residual_add": self.adds, "fused_rope": self.rope}
        made |= {"d_head": self.head, "num_q_heads": HEADS, "num_kv_heads": KEY_HEADS}
        return made | {"output_layout": getattr(types.QKVOutputLayout, self.layout)} | self.more

    def exact(self) -> np.ndarray:
        """Return the result in float64, of MX weights as they are quantised, with activations as they are."""
        given = {name: values.astype(np.float64) for name, values in self.operands().items()}
        hidden = given["input"] + (given["mlp_prev"] + given["attention_prev"] if self.adds else 0)
        if self.norm == "LAYER_NORM":
            hidden = hidden - hidden.mean(axis=-1, keepdims=True)
        if self.norm != "NO_NORM":
            hidden = hidden / np.sqrt((hidden**2).mean(axis=-1, keepdims=True) + EPS) * given["gamma_norm_weights"]
        if self.norm == "LAYER_NORM":
            hidden = hidden + given["layer_norm_bias"]
        weights = dequantised(*quantised(self.operands()["weights"])) if self.mx else given["weights"]
        made = (hidden @ weights + (given["bias"] if self.bias else 0)).reshape(*self.shape[:2], -1, self.head)
        if self.rope:
            turned = made[:, :, : HEADS + KEY_HEADS]
            first, second = np.split(turned, 2, axis=-1)
            crossed = np.concatenate([-second, first], axis=-1)
            rotated = turned * given["cos_cache"][:, :, None] + crossed * given["sin_cache"][:, :, None]
            made = np.concatenate([rotated, made[:, :, HEADS + KEY_HEADS :]], axis=2)
        return made.transpose(2, 0, 1, 3) if self.layout == "NBSd" else made.reshape(*self.shape[:2], -1)


def quarters(values: np.ndarray) -> np.ndarray:
    """Return [..., H] with elements 4 k + q of all k for q = 0, then for q = 1 and so on."""
    return np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:-1], -1, 4), -1, -2)).reshape(values.shape)


def quantised(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return MX weights [H / 4, columns, 4] of E4M3FN, four of the hidden dimension in a word, and their scales."""
    hidden, columns = weights.shape
    words = np.ascontiguousarray(weights.reshape(hidden // 4, 4, columns).transpose(0, 2, 1)).reshape(hidden // 4, -1)
    tiles = [trainium3.quantize_mx(words[k : k + 128], ml_dtypes.float8_e4m3fn) for k in range(0, len(words), 128)]
    data, scale = (np.concatenate(each) for each in zip(*tiles, strict=True))
    return data.reshape(hidden // 4, columns, 4), scale


def dequantised(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return MX weights in float64, [H, columns]."""
    powers = np.exp2(scale.astype(np.float64) - 127).repeat(8, axis=0)[:, :, None]
    return (data.astype(np.float64) * powers).transpose(0, 2, 1).reshape(-1, data.shape[1])
