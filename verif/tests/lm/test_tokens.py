"""Prompts by chat templates; tokenizers of GGUF files and folders where the package tokenizers is installed."""

import json
import re
from types import SimpleNamespace

import pytest

from bitpath.golden.arrays.files import FileError
from bitpath.sim.lm import tokens as lm
from bitpath.sim.lm.tokens import Tokens, read_tokens
from bitpath.sim.lm.weights import Checkpoint, open_checkpoint
from bitpath.verif.tests.lm.tiny import save, tiny

OWN = (
    "{{ bos_token }}{% if messages[0].role != 'system' %}[system]Be brief.\n{% endif %}"
    "{% for each in messages %}[{{ each['role'] }}]{{ each['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[answer]{% endif %}"
)
"""A template with a system message of its own."""
PLAIN = "{% for each in messages %}<{{ each.role }}>{{ each.content }}{{ eos_token }}{% endfor %}"


def with_template(template, **special):
    return Tokens(tokenizer=None, template=template, special=special)


@pytest.mark.parametrize(
    ("template", "system", "text"),
    [
        (OWN, True, "<s>[system]Be brief.\n[user]Why?\n[answer]"),
        (OWN, False, "<s>[user]Why?\n[answer]"),
        (PLAIN, True, "<user>Why?</s>"),
        (PLAIN, False, "<user>Why?</s>"),
    ],
)
def test_a_question_in_a_template(template, system, text):
    assert with_template(template, bos_token="<s>", eos_token="</s>").chat("Why?", system=system) == text


def test_a_template_without_a_beginning_of_texts():
    assert with_template(OWN).chat("Why?", system=False) == "[user]Why?\n[answer]"


def test_a_beginning_of_texts_that_is_one_of_turns_too():
    template = PLAIN.replace("<{{", "{{ bos_token }}<{{")
    assert with_template(template, bos_token="^").chat("Why?", system=False) == "^<user>Why?"


def test_a_template_that_puts_the_system_message_elsewhere_stays_whole():
    template = (
        "{% for each in messages if each.role == 'user' %}{{ each.content }}{{ messages[0].content }}{% endfor %}"
    )
    assert with_template(template).chat("Why?", system=False) == "Why?Why?"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{% for %}", "Expected an expression, got 'end of statement block'"),
        ("{{ messages.append(1) }}", "access to attribute 'append' of 'list' object is unsafe."),
        ("{{ messages.__class__.__mro__ }}", "access to attribute '__class__' of 'list' object is unsafe."),
        ("{{ 1 + messages[0].role }}", "unsupported operand type(s) for +: 'int' and 'str'"),
    ],
)
def test_a_template_that_fails_says_why(template, says):
    with pytest.raises(ValueError, match=f"^the model's chat template fails: {re.escape(says)}$"):
        with_template(template).chat("Why?")


def test_a_model_without_a_template_gets_the_question():
    tokenizer = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=[len(text)]))
    assert Tokens(tokenizer=tokenizer, template=None, special={}).prompt("Why?") == [4]


# Tokenizers.


def metadata(pre="smollm", tokens=(), merges=(), **more):
    """Return a GGUF file's metadata of a tokenizer: the bytes as GPT-2 writes them, two special tokens, and others."""
    letters = [*map(chr, range(33, 127)), "Ġ", "Ċ", "Ã", "©"]
    special = ["<s>", "</s>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": [*special, *letters, *tokens],
        "tokenizer.ggml.token_type": [3] * len(special) + [1] * (len(letters) + len(tokens)),
        "tokenizer.ggml.merges": list(merges),
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
    } | more


def in_gguf(tmp_path, found):
    return Checkpoint(path=tmp_path / "a.gguf", gguf=True, config={}, tensors={}, metadata=found.get)


def words(tokens, text):
    """Return the words that merges do not cross, with visible spaces."""
    return [word for word, _ in tokens.tokenizer.pre_tokenizer.pre_tokenize_str(text)]


@pytest.fixture
def tokenizers():
    return pytest.importorskip("tokenizers", reason="the extra lm is not installed")


TEXT = "It's 1234 DON'T\n\n  end..."
SPLIT = {
    "smollm": ["It", "'s", "Ġ", "1", "2", "3", "4", "ĠDON", "'", "T", "ĊĊĠ", "Ġend", "..."],
    "gpt-2": ["It", "'s", "Ġ1234", "ĠDON", "'", "T", "ĊĊĠ", "Ġend", "..."],
    "llama-bpe": ["It", "'s", "Ġ", "123", "4", "ĠDON", "'T", "ĊĊ", "Ġ", "Ġend", "..."],
    "qwen2": ["It", "'s", "Ġ", "1", "2", "3", "4", "ĠDON", "'T", "ĊĊ", "Ġ", "Ġend", "..."],
    "default": ["It", "'", "s", "Ġ", "123", "4", "ĠDON", "'", "T", "ĊĊĠ", "Ġend", "..."],
}


@pytest.mark.parametrize("name", SPLIT)
def test_a_pre_tokenizer_splits_words(tokenizers, tmp_path, name):
    assert words(read_tokens(in_gguf(tmp_path, metadata(name))), TEXT) == SPLIT[name]
    assert set(SPLIT) == set(lm.WORDS)


def test_merges_join_in_their_order_and_text_comes_back(tokenizers, tmp_path):
    found = read_tokens(in_gguf(tmp_path, metadata(tokens=("ab", "bc", "abc"), merges=("b c", "a b", "a bc"))))
    place = found.tokenizer.token_to_id
    assert found.encode("abcab é") == [place("abc"), place("ab"), *map(place, "ĠÃ©")]
    assert found.decode([0, *found.encode("abcab é<s>"), 1]) == "abcab é"
    assert found.encode("a</s>b") == [place("a"), 1, place("b")]


def test_llama3s_words_that_are_tokens_are_taken_whole(tokenizers, tmp_path):
    whole = {"tokens": ("ab", "abc"), "merges": ("a b",)}
    found = [read_tokens(in_gguf(tmp_path, metadata(name, **whole))) for name in ("llama-bpe", "gpt-2")]
    assert [len(each.encode("<s>abc")) for each in found] == [1 + 2, 3]


@pytest.mark.parametrize(
    ("pre", "more", "begins"),
    [
        ("smollm", {}, False),
        ("llama-bpe", {}, True),
        ("smollm", {"tokenizer.ggml.add_bos_token": True}, True),
        ("llama-bpe", {"tokenizer.ggml.add_bos_token": False}, False),
    ],
)
def test_a_text_begins_as_the_file_says_and_a_prompt_as_the_template_does(tokenizers, tmp_path, pre, more, begins):
    found = read_tokens(in_gguf(tmp_path, metadata(pre, **more)))
    assert found.encode("a") == [0] * begins + [found.tokenizer.token_to_id("a")]
    own = {"tokenizer.chat_template": "{{ bos_token }}{{ messages[0].content }}"}
    prompted = read_tokens(in_gguf(tmp_path, metadata(pre, **more, **own)))
    assert prompted.prompt("a") == [0, prompted.tokenizer.token_to_id("a")]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"tokenizer.ggml.model": "llama"},
            "tokenizer.ggml.model must be 'gpt2', byte-level BPE, not 'llama'; a folder with tokenizer.json may have any",
        ),
        ({"tokenizer.ggml.model": None}, "tokenizer.ggml.model must be 'gpt2', byte-level BPE, not None; a folder .*"),
        (
            {"tokenizer.ggml.pre": "tekken"},
            "tokenizer.ggml.pre must be 'smollm', 'gpt-2', 'llama-bpe', 'qwen2' or 'default', not 'tekken'",
        ),
    ],
)
def test_other_vocabularies_are_refused(monkeypatch, tmp_path, changed, says):
    monkeypatch.setattr(lm, "require_extra", lambda name: None)
    with pytest.raises(FileError, match=f"^{re.escape(str(tmp_path / 'a.gguf'))}: {says}$"):
        read_tokens(in_gguf(tmp_path, metadata() | changed))


def in_folder(tmp_path, tokenizers, **files):
    """Return the checkpoint of a folder with a tokenizer of letters and further files."""
    folder = save(tiny(), tmp_path)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=5)
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        (folder / name.replace("_json", ".json").replace("_jinja", ".jinja")).write_text(content)
    return open_checkpoint(folder)


def test_a_folders_tokenizer_neither_cuts_nor_fills(tokenizers, tmp_path):
    found = read_tokens(in_folder(tmp_path, tokenizers))
    assert found.encode("abbab") == [2, 1, 2]
    assert (found.template, found.special) == (None, {})


@pytest.mark.parametrize(
    ("settings", "own", "template"),
    [
        ({"chat_template": "one"}, None, "one"),
        (
            {"chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": "two"}]},
            None,
            "two",
        ),
        ({"chat_template": "one"}, "three", "three"),
    ],
)
def test_a_folders_template_and_special_tokens(tokenizers, tmp_path, settings, own, template):
    special = {"bos_token": {"content": "<s>", "lstrip": False}, "eos_token": "</s>", "unk_token": "<unk>"}
    files = {"tokenizer_config_json": json.dumps(settings | special)}
    files |= {"chat_template_jinja": own} if own else {}
    found = read_tokens(in_folder(tmp_path, tokenizers, **files))
    assert found.template == template
    assert found.special == {"bos_token": "<s>", "eos_token": "</s>"}


def test_a_folder_without_a_tokenizer_names_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(lm, "require_extra", lambda name: None)
    file = save(tiny(), tmp_path) / "tokenizer.json"
    with pytest.raises(FileError, match=f"^{re.escape(str(file))} cannot be read: No such file or directory$"):
        read_tokens(open_checkpoint(tmp_path))


def test_a_damaged_tokenizer_is_refused(tokenizers, tmp_path):
    checkpoint = in_folder(tmp_path, tokenizers, tokenizer_json="{}")
    with pytest.raises(FileError, match=rf"^{re.escape(str(tmp_path))}/tokenizer\.json is no tokenizer: "):
        read_tokens(checkpoint)
