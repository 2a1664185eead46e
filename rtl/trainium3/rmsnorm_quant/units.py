"""Unit record of the RMSNorm-Quant row unit."""

from bitpath.rtl.common.unit import CLOCK, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant

RMSNORM_QUANT_LANE_GROUPS = (
    WaveGroup("first lane, pass 1", r"lane_0\.(hidden|cast\.|squares\.|largest|maximum)"),
    WaveGroup("first lane, statistics", r"lane_0\.(statistics\.|in_scale)"),
    WaveGroup("first lane, pass 2", r"lane_0\.(gamma|normalize\.)"),
    WaveGroup("first lane, pass 3", r"lane_0\.(quantize\.|o$)"),
)

UNITS = (
    Unit(
        name="rmsnorm_quant",
        room="trainium3/rmsnorm_quant",
        config_type=RmsNormQuantConfig,
        build=RmsNormQuant,
        summary="Trainium3: RMSNorm-Quant, rows in lanes: BF16, FP16 or FP32 in, FP8 and scales out",
        covered=Covered(RmsNormQuantConfig(), 40),
        judges=(Judge(17, RmsNormQuantConfig()),),
        waves=(
            CLOCK,
            WaveGroup("command", r"(command__|busy|retired)"),
            WaveGroup("hidden and gamma", r"(hidden|gamma)__"),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("gamma's broadcast", r"(broadcast\.|weight)"),
            *RMSNORM_QUANT_LANE_GROUPS,
            OUTPUT,
        ),
    ),
)

CONTROL = ("rmsnorm_quant",)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
