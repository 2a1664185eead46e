"""A language model of small sizes with random weights, and its files as Hugging Face's programs and llama.cpp write them."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.sim.lm.model import Block, Model
from bitpath.sim.lm.weights import FIELDS, OUTER, TENSORS

BASE = 10_000.0
DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}


def tiny(
    seed: int = 0,
    *,
    hidden: int = 64,
    inner: int = 96,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    blocks: int = 2,
    vocabulary: int = 128,
    tied: bool = True,
    biases: tuple[str, ...] = (),
) -> Model:
    """Return a model whose weights are normal numbers of deviation ``K ** -0.5``, so that rows keep their size.

    Parameters
    ----------
    tied : the head is the embedding.
    biases : kinds of products with a bias.
    """
    rng = np.random.default_rng(seed)
    shapes = {
        "q": (hidden, heads * head_dim),
        "k": (hidden, kv_heads * head_dim),
        "v": (hidden, kv_heads * head_dim),
        "o": (heads * head_dim, hidden),
        "gate": (hidden, inner),
        "up": (hidden, inner),
        "down": (inner, hidden),
    }

    def normal(*shape: int, deviation: float = 1.0, mean: float = 0.0) -> np.ndarray:
        return rng.normal(mean, deviation, shape).astype(np.float32)

    def block() -> Block:
        weights = {
            kind: np.ascontiguousarray(normal(*reversed(each), deviation=each[0] ** -0.5).T)
            for kind, each in shapes.items()
        }
        norms = {name: normal(hidden, deviation=0.1, mean=1) for name in ("attention_norm", "ffn_norm")}
        return Block(**weights, **norms, biases={kind: normal(shapes[kind][1], deviation=0.1) for kind in biases})

    embedding = normal(vocabulary, hidden)
    return Model(
        name="tiny",
        embedding=embedding,
        blocks=tuple(block() for _ in range(blocks)),
        norm=normal(hidden, deviation=0.1, mean=1),
        head=(embedding if tied else normal(vocabulary, hidden)).T,
        heads=heads,
        kv_heads=kv_heads,
        frequencies=BASE ** (-np.arange(0, head_dim, 2) / head_dim),
        epsilon=1e-5,
        context=64,
        ends=(0,),
    )


def config(model: Model) -> dict[str, Any]:
    """Return config.json of a model."""
    return {
        "model_type": "llama",
        "hidden_size": model.embedding.shape[1],
        "intermediate_size": model.blocks[0].up.shape[1],
        "num_hidden_layers": len(model.blocks),
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "rms_norm_eps": model.epsilon,
        "max_position_embeddings": model.context,
        "rope_theta": BASE,
        "tie_word_embeddings": np.shares_memory(model.head, model.embedding),
        "eos_token_id": model.ends[0],
    }


def tensors(model: Model, gguf: bool = False) -> dict[str, np.ndarray]:
    """Return the tensors of a model's file by their names there; a GGUF file holds pairs of RoPE as neighbours."""
    found = {f"{OUTER[name][gguf]}.weight": getattr(model, name) for name in ("embedding", "norm")}
    if not np.shares_memory(model.head, model.embedding):
        found[f"{OUTER['head'][gguf]}.weight"] = model.head.T
    for place, block in enumerate(model.blocks):
        for kind, names in TENSORS.items():
            name = f"{'blk' if gguf else 'model.layers'}.{place}.{names[gguf]}"
            parts = {"weight": getattr(block, kind).T}
            if kind in block.biases:
                parts["bias"] = block.biases[kind]
            for part, array in parts.items():
                found[f"{name}.{part}"] = beside(array, model.head_dim) if gguf and kind in ("q", "k") else array
    return found


def beside(rows: np.ndarray, head_dim: int) -> np.ndarray:
    """Return rows whose pairs (i, i + head_dim / 2) of each head stand at (2i, 2i + 1)."""
    order = [i // 2 + i % 2 * head_dim // 2 for i in range(head_dim)]
    return np.concatenate([head[order] for head in np.split(rows, len(rows) // head_dim)])


def save(
    model: Model, folder: Path, *, dtype: str = "F32", shards: int = 1, changed: Mapping[str, Any] | None = None
) -> Path:
    """Write a model's folder: config.json, with changed fields, and its safetensors; return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(model) | dict(changed or {})))
    arrays = list(tensors(model).items())
    names = [f"model-{place}.safetensors" for place in range(shards)] if shards > 1 else ["model.safetensors"]
    parts = {name: dict(arrays[place::shards]) for place, name in enumerate(names)}
    for name, part in parts.items():
        (folder / name).write_bytes(safetensors(part, dtype))
    if shards > 1:
        index = {"weight_map": {tensor: name for name, part in parts.items() for tensor in part}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def safetensors(arrays: Mapping[str, np.ndarray], dtype: str = "F32") -> bytes:
    """Return the bytes of a safetensors file."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, array in arrays.items():
        encoded = np.ascontiguousarray(array).astype(DTYPES[dtype]).tobytes()
        offsets = [len(content), len(content) + len(encoded)]
        header[name] = {"dtype": dtype, "shape": [*array.shape], "data_offsets": offsets}
        content += encoded
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + content


def fields(model: Model, architecture: str = "llama") -> dict[str, Any]:
    """Return the metadata of a model's GGUF file."""
    own = config(model)
    found = {f"{architecture}.{end}": own[name] for name, end in FIELDS.items() if name in own}
    return {"general.architecture": architecture, "tokenizer.ggml.eos_token_id": model.ends[0]} | found


def reader(metadata: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SimpleNamespace:
    """Return an object like the package gguf's reader of a file, with tensors of FP32."""
    return SimpleNamespace(
        fields={name: SimpleNamespace(contents=lambda value=value: value) for name, value in metadata.items()},
        tensors=[
            SimpleNamespace(name=name, shape=array.shape[::-1], data=array, tensor_type=SimpleNamespace(name="F32"))
            for name, array in arrays.items()
        ],
    )
