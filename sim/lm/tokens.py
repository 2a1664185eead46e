"""Texts to token ids and back, by the tokenizer and the chat template of a checkpoint.

A folder's tokenizer is its tokenizer.json, of any kind. That of a GGUF file is made from its metadata: byte-level BPE from
tokens, merges and the name of the pre-tokenizer, which splits a text into the words that merges do not cross. Sentencepiece
vocabularies of GGUF files are refused, since the files leave out the merges.

References: llama.cpp's ``llama-vocab``, which names the pre-tokenizers; Hugging Face's ``tokenizers`` and chat templates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bitpath.golden.arrays.files import FileError, read_text
from bitpath.golden.scalar.checked import one_of
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.lm.weights import Checkpoint, read_object

CONTROL, USER_DEFINED = 3, 4
"""Types of a GGUF file's tokens that stand for themselves in a text; those of the first kind are no text when decoded."""
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LATER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WORDS = {
    "smollm": (r"\p{N}", GPT_2),
    "gpt-2": (GPT_2,),
    "llama-bpe": (LATER.replace("DIGITS", "{1,3}"),),
    "qwen2": (LATER.replace("DIGITS", ""),),
    "default": (r"[\p{P}\$\+<=>\^~\|]+", GPT_2, r"\p{N}+", "[0-9]{3}"),
}
"""Pre-tokenizers by their names in GGUF files: each pattern in turn splits the pieces that the patterns before it leave."""
TOKENIZER_BYTES = 1 << 28
"""Largest tokenizer.json."""
TEXT = """\
The first machine that the old engineer built could only add. It stood on a table beside the window, a box of brass wheels with a \
handle on one side, and every morning he set two numbers on its dials and turned the handle until the bell rang. His neighbours \
thought that it was a toy. He had three daughters, and the youngest asked him why the wheels always stopped at nine. Because ten \
needs another wheel, he said, and gave her the screwdriver. By the time the snow had melted there were eight wheels, and the girl \
knew which of them slipped when the room was cold. She wrote it down in a small book: the number that went in, the number that came \
out, and the weather. When visitors laughed at the book, she told them that a machine which is wrong in the same way every day is \
worth more than one which is right for reasons that nobody knows.
"""
"""Text that is measured by default, 163 tokens of the default model."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tokens:
    """A checkpoint's tokenizer and chat template.

    Attributes
    ----------
    tokenizer : the object of Hugging Face's package tokenizers.
    template : the chat template, None of a model without one.
    special : texts of its variables bos_token and eos_token.
    """

    tokenizer: Any
    template: str | None
    special: Mapping[str, str]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, after the token that begins every text where the model has one."""
        return self.tokenizer.encode(text).ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids without control tokens."""
        return self.tokenizer.decode(list(ids))

    def prompt(self, question: str, *, system: bool = True) -> list[int]:
        """Return the ids of a user's question in the chat template, up to the beginning of the answer.

        Without a template the question is the prompt.

        Parameters
        ----------
        system : with the system message that the template adds by itself, if it does.

        Raises
        ------
        ValueError : the template fails.
        """
        if self.template is None:
            return self.encode(question)
        return self.tokenizer.encode(self.chat(question, system=system), add_special_tokens=False).ids

    def chat(self, question: str, *, system: bool = True) -> str:
        """Return the text of `prompt`."""
        asked = {"role": "user", "content": question}
        whole = self._render([asked], answer=True)
        if system:
            return whole
        # The template adds its own message only where none is given; the user's turn follows a given one.
        given = {"role": "system", "content": "-"}
        before, after = self._render([given]), self._render([given, asked], answer=True)
        if not before or not after.startswith(before):
            return whole
        turn, begin = after.removeprefix(before), self.special.get("bos_token", "")
        # Some models begin each turn with bos_token, others the text alone.
        return turn if turn.startswith(begin) or not whole.startswith(begin) else begin + turn

    def _render(self, messages: list[dict[str, str]], *, answer: bool = False) -> str:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def fails(message: str) -> None:
            raise TemplateError(message)

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = fails
        try:
            template = environment.from_string(self.template or "")
            return template.render(messages=messages, add_generation_prompt=answer, **self.special)
        except (TemplateError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"the model's chat template fails: {error}") from None


def read_tokens(checkpoint: Checkpoint) -> Tokens:
    """Return the tokenizer and the chat template of a checkpoint.

    Raises
    ------
    FileError : it has no tokenizer, or one of another kind.
    MissingToolError : the package tokenizers is missing.
    """
    require_extra("lm")
    if not checkpoint.gguf:
        return _of_folder(checkpoint)
    try:
        return _of_gguf(checkpoint)
    except FileError:
        raise
    except (TypeError, LookupError, ValueError, OverflowError) as error:
        raise FileError(f"{checkpoint.path}: the tokenizer's metadata is damaged: {error}") from None


def _of_gguf(checkpoint: Checkpoint) -> Tokens:
    def field(name: str, default: Any = None) -> Any:
        found = checkpoint.metadata(f"tokenizer.{name}")
        return default if found is None else found

    kind, words = field("ggml.model"), field("ggml.pre", "default")
    if kind != "gpt2":
        raise FileError(
            f"{checkpoint.path}: tokenizer.ggml.model must be 'gpt2', byte-level BPE, not {kind!r}; a folder with "
            "tokenizer.json may have any"
        )
    if words not in WORDS:
        raise FileError(f"{checkpoint.path}: tokenizer.ggml.pre must be {one_of(map(repr, WORDS))}, not {words!r}")
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    tokens, kinds = field("ggml.tokens"), field("ggml.token_type", [])
    merges = [tuple(each.split(" ")) for each in field("ggml.merges")]
    # Llama 3's words that are tokens are taken whole.
    model = models.BPE({text: place for place, text in enumerate(tokens)}, merges, ignore_merges=words == "llama-bpe")
    tokenizer = Tokenizer(model)
    if words == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in WORDS[words]]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [(text, each) for text, each in zip(tokens, kinds, strict=False) if each in (CONTROL, USER_DEFINED)]
    tokenizer.add_tokens([AddedToken(text, special=each == CONTROL, normalized=False) for text, each in added])
    places = {name: field(f"ggml.{name}_token_id") for name in ("bos", "eos")}
    special = {f"{name}_token": tokens[place] for name, place in places.items() if place is not None}
    if "bos_token" in special and field("ggml.add_bos_token", words == "llama-bpe"):
        begin = special["bos_token"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=[begin, "$A"], special_tokens=[(begin, places["bos"])]
        )
    return Tokens(tokenizer=tokenizer, template=field("chat_template"), special=special)


def _of_folder(checkpoint: Checkpoint) -> Tokens:
    file = checkpoint.path / "tokenizer.json"
    text = read_text(file, most=TOKENIZER_BYTES)
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the package has no class of its own
        raise FileError(f"{file} is no tokenizer: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    settings, own = checkpoint.path / "tokenizer_config.json", checkpoint.path / "chat_template.jinja"
    config = read_object(settings) if settings.exists() else {}
    template = read_text(own) if own.exists() else config.get("chat_template")
    if isinstance(template, list):
        template = next((each["template"] for each in template if each.get("name") == "default"), None)
    special = {
        name: each["content"] if isinstance(each, dict) else each
        for name, each in config.items()
        if name in ("bos_token", "eos_token") and each
    }
    return Tokens(tokenizer=tokenizer, template=template, special=special)
