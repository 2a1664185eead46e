"""Kernels as users write them, one for each family of instructions; they import ``nki`` alone.

with nki.installed():
    from bitpath.verif.nki.kernels import softmax
run = nki.run(softmax.by_exponential, x)
"""
