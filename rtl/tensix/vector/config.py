"""Configuration of SFP_STOCH_RND."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics


@dataclass(frozen=True, kw_only=True)
class SfpStochasticRoundConfig:
    """Configuration of SFP_STOCH_RND.

    Attributes
    ----------
    numerics : ``stochastic_compare`` and ``sfpu_round_to_zero``.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
