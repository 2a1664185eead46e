"""Small models of torch: each a function that returns one in eval mode, with example inputs."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Self-attention by torch's function."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads = heads
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        parts = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.inner(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.outer(mixed.transpose(1, 2).flatten(2))


class Experts(nn.Module):
    """A mixture of experts [E, K, N], all of which see each token."""

    def __init__(self, experts=4, width=32, inner=48):
        super().__init__()
        self.up = nn.Parameter(torch.randn(experts, width, inner) / 6)
        self.down = nn.Parameter(torch.randn(experts, inner, width) / 7)
        self.router = nn.Linear(width, experts, bias=False)

    def forward(self, x):
        share = self.router(x).softmax(-1).flatten(0, 1)
        hidden = torch.bmm(x.flatten(0, 1).expand(len(self.up), -1, -1), self.up)
        return torch.einsum("end,ne->nd", torch.bmm(functional.silu(hidden), self.down), share).view_as(x)


class Language(nn.Module):
    """A language model with logits of 50 tokens, whose head is the embedding."""

    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(50, 32), nn.LayerNorm(32)
        self.attention, self.experts = Attention(), Experts()

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = x + self.attention(self.norm(x))
        return {"logits": functional.linear(x + self.experts(x), self.embedding.weight)}


def attention():
    torch.manual_seed(0)
    return Attention().eval(), (torch.randn(2, 6, 32),)


def language():
    torch.manual_seed(0)
    return Language().eval(), (torch.randint(50, (2, 6)),)


def convolutions():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.Conv2d(8, 4, 3, groups=2)
    )
    return model.eval(), (torch.randn(2, 3, 8, 8),)


def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 2, 48, batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval(), (torch.randn(2, 6, 32),)


MODELS = {each.__name__: each for each in (attention, language, convolutions, encoder)}


def output(found):
    """Return the tensor of a model's output."""
    return found["logits"] if isinstance(found, dict) else found
