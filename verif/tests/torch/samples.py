"""Operands of torch, and their product by golden."""

import numpy as np
import torch

import bitpath


def tensors(*leading, seed=0, dtype=torch.float32):
    """Return x [*leading, 48], w [5, 48] and a bias [5] that require gradients."""
    random = torch.Generator().manual_seed(seed)
    shapes = ((*leading, 48), (5, 48), (5,))
    return [torch.randn(shape, generator=random).to(dtype).requires_grad_() for shape in shapes]


def integers(*shape, seed=0):
    """Return small integers, whose products and sums are exact in bf16 and float32."""
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).float()


def golden(a, b, **names):
    """Return the product of two tensors as golden computes it."""
    a, b = (each.detach().float().numpy() for each in (a, b))
    return torch.from_numpy(np.ascontiguousarray(bitpath.matmul(a, b, **names)))


def golden_linear(x, w, bias, **names):
    """Return a layer's output in float32."""
    return golden(x, w.T, **names) + bias.detach().float()
