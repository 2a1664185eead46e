"""The layer from HBM back to HBM: its stages against the operations on their own, and its times."""

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, MX_FORMATS
from bitpath.golden.trainium3.core.layer import PARTS
from bitpath.sim.flows.operands import normalised_layer


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.fixture(scope="module")
def layer():
    hidden, gamma, weight = normalised_layer()
    return trainium3.round_to_bfloat16(hidden), trainium3.round_to_bfloat16(gamma), weight


@pytest.mark.parametrize(("fmt", "rule"), [("mxfp8_e4m3", "ocp"), ("mxfp8_e5m2", "nki05")])
def test_every_stage_is_the_operation_on_its_own(layer, fmt, rule):
    """Without memories or DMA: RMSNorm, then each part quantised and multiplied, the sum rounded to BF16."""
    hidden, gamma, weight = layer
    result = trainium3.run_layer(*layer, fmt=fmt, scale_rule=rule)
    normalised = trainium3.rmsnorm(hidden, gamma)
    assert same(result.normalised, normalised)
    dtype = DTYPES[MX_FORMATS[fmt].element]
    parts, scales = [], []
    for first, partitions, start in PARTS:
        each = slice(first, first + 4 * partitions)
        tiles = [trainium3.to_partitions(np.ascontiguousarray(x)) for x in (normalised.T[each], weight[each])]
        x, w = (tile.reshape(partitions, -1) for tile in tiles)
        data, scale = trainium3.quantize_mx(x, dtype, scale_rule=rule)
        codes, weight_scale = trainium3.quantize_offline(w, dtype, scale_rule=rule)
        assert same(result.words[start : start + partitions], trainium3.pack_x4(data))
        operands = (each.reshape(partitions, -1, 4) for each in (data, codes))
        parts.append(trainium3.nc_matmul_mx(*operands, scale, weight_scale))
        scales.append(scale)
    assert same(result.scales, np.vstack(scales))
    assert same(result.parts, np.stack(parts))
    total = trainium3.read_add_write(*parts)
    assert same(result.output, trainium3.cast(total, DTYPES[BF16]))


def test_priorities_and_classes_change_times_alone(layer):
    free, fair = (trainium3.run_layer(*layer, shaping=False, qos=qos) for qos in (True, False))
    shaped = trainium3.run_layer(*layer)
    assert same(free.output, shaped.output)
    assert same(free.output, fair.output)
    moved = [each.report.traffic[3] for each in (shaped, free, fair)]
    assert len({traffic.bytes for traffic in moved}) == 1
    # A quarter of an engine's 27.5 bytes a cycle of 1.2 GHz, on 16 engines, is 132 GB/s; the burst and the start count, too.
    assert moved[0].gb_per_s < 132 < moved[1].gb_per_s
    # Without priorities the copy within HBM takes turns with the loads, so that the first instruction starts later.
    first = [next(span.start for span in each.report.spans if span.name == "sum of squares") for each in (free, fair)]
    assert first[0] < first[1]


def test_the_engines_are_busy_for_the_cycles_of_their_rules(layer):
    report = trainium3.run_layer(*layer).report
    spans = {span.name: span for span in report.spans}
    # Eight transposes of 128 cycles in two slots, one cycle apart.
    assert spans["transpose 7"].end - spans["transpose 0"].start == 4 * 128 + 1
    assert spans["multiply 0"].end - spans["multiply 0"].start == 512
    assert spans["quantise"].end - spans["quantise"].start == 2 * 128
    assert spans["normalise"].end - spans["normalise"].start == 2 * 384
    # 8 descriptors of 2048 bytes on each engine, there and back.
    assert spans["add part"].end - spans["add part"].start == 2 * (720 + 1560 + 8 * 90)
    assert report.banks == (0, 1, 2, 5, 6)
    assert sum(span.engine == "dma" for span in report.spans) == 11


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"fmt": "mxfp4"},
            ValueError,
            "fmt must be 'mxfp8_e4m3' or 'mxfp8_e5m2', not 'mxfp4'; did you mean 'mxfp8_e4m3'.",
        ),
        ({"gamma": np.ones(3, DTYPES[BF16])}, ValueError, r"gamma must have shape \(384,\), not \(3,\)"),
        ({"weight": np.ones((384, 512))}, TypeError, "weight must be float32, not float64"),
    ],
)
def test_mistakes(layer, change, error, sentence):
    names = ("hidden", "gamma", "weight")
    with pytest.raises(error, match=f"^{sentence}$"):
        trainium3.run_layer(**dict(zip(names, layer, strict=True)) | change)
