"""The datapaths of the three machines as block diagrams.

``python -m parts.datapaths`` in docs writes images/datapaths.svg, which the README shows.
"""

from pathlib import Path

from parts.drawing import Box, Diagram, stack

PICTURE = Path(__file__).resolve().parents[1] / "images" / "datapaths.svg"

DIAGRAMS = {
    "trainium3": Diagram(
        "AWS Trainium3: quad-MX matmul",
        {
            "quant": Box(0, 0, "QuantizeMX", "32 elements, 1 scale", "convert"),
            "norm": Box(0, 1, "RMSNorm-Quant", "BF16 rows to FP8", "convert"),
            "memory": Box(1, 0, "operand memory", "MXFP8, MXFP4, E8M0", "memory"),
            "map": Box(2, 0, "element map", "FP4 to FP8", "convert"),
            "multiply": Box(3, 0, "4 products", "FP8 x FP8, 2 scales", "logic"),
            "sum": Box(4, 0, "exact sum", "4 products + FP32", "sum"),
            "round": Box(5, 0, "normalise, round", "1 RNE to FP32", "sum"),
            "psum": Box(6, 0, "PSUM", "add FP32, or BF16", "memory"),
            "random": Box(6, 1, "XORWOW", "stochastic rounding", "logic"),
        },
        (
            ("quant", "memory"),
            ("memory", "map"),
            ("map", "multiply"),
            ("multiply", "sum"),
            ("sum", "round"),
            ("round", "psum"),
            ("random", "psum"),
        ),
    ),
    "tensix": Diagram(
        "Tenstorrent Wormhole: Tensix Matrix unit",
        {
            "l1": Box(0, 0, "L1", "BF16, FP16, FP8, BFP", "memory"),
            "unpack": Box(1, 0, "2 unpackers", "to 19-bit words", "convert"),
            "src": Box(2, 0, "SrcA, SrcB", "two banks each", "memory"),
            "multiply": Box(3, 0, "16 multipliers", "7 x 5 bits, 4 phases", "logic"),
            "group": Box(4, 0, "2 group sums", "8 aligned products", "sum"),
            "add": Box(5, 0, "add to Dst", "align, round, add", "sum"),
            "dst": Box(6, 0, "Dst", "16 or 32 bits", "memory"),
            "pack": Box(6, 1, "packer", "ReLU, round, to L1", "convert"),
        },
        (
            ("l1", "unpack"),
            ("unpack", "src"),
            ("src", "multiply"),
            ("multiply", "group"),
            ("group", "add"),
            ("add", "dst"),
            ("dst", "pack"),
        ),
    ),
    "aie_ml_v2": Diagram(
        "AMD AIE-ML v2: vector unit",
        {
            "convert": Box(0, 0, "MX conversion", "FP32 to MX9, 6, 4", "convert"),
            "registers": Box(1, 0, "registers", "X, E, F, G", "memory"),
            "permute": Box(2, 0, "permute", "native tile shapes", "logic"),
            "multiply": Box(3, 0, "multiply", "64 lanes", "logic"),
            "post": Box(4, 0, "post-add", "exact sum of a lane", "sum"),
            "align": Box(5, 0, "align, add", "23 fraction bits", "sum"),
            "acc": Box(6, 0, "accumulators", "round, FP32 or int", "memory"),
            "srs": Box(6, 1, "SRS, to floats", "shift, round, saturate", "convert"),
            "cascade": Box(5, 1, "cascade", "from the tile before", "memory"),
        },
        (
            ("convert", "registers"),
            ("registers", "permute"),
            ("permute", "multiply"),
            ("multiply", "post"),
            ("post", "align"),
            ("align", "acc"),
            ("acc", "srs"),
            ("cascade", "align"),
        ),
    ),
}


def picture() -> str:
    """Return all three datapaths as one SVG file."""
    return stack(list(DIAGRAMS.values()))


if __name__ == "__main__":
    PICTURE.write_text(picture())
