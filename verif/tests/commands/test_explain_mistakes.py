"""``bitpath explain``: a one-sentence error for every mistake."""

import pytest
from click.testing import CliRunner

from bitpath.golden.aie_ml_v2.matmul.matmul import FORMATS
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.machines import MACHINES
from bitpath.sim.commands.explain import explain_command
from bitpath.sim.flows.texts import TEXTS


def no_word(option, name, width, text):
    return f"{option} must be a number that {name} holds, or a word of {width} bits that begins with 0x, not {text!r}"


def names(machine):
    return one_of(map(repr, MACHINES[machine].formats))


NOTHING = {"trainium3": "--stationary and --moving", "tensix": "--src-a and --src-b", "aie_ml_v2": "--x and --y"}
MISTAKES = [
    *((machine, f"nothing to explain; give {operands}, or --output") for machine, operands in NOTHING.items()),
    ("tensix --src-a 1", "nothing to explain; give --src-a and --src-b, or --output"),
    ("aie_ml_v2 --x 1", "nothing to explain; give --x and --y, or --output"),
    *(
        (f"{machine} --output 0,0 --preset x", f"--preset must be {one_of(map(repr, record.presets))}, not 'x'")
        for machine, record in TEXTS.items()
    ),
    ("trainium3 --output 128,0", "--output must be M,N up to 127,511, not '128,0'"),
    ("tensix --output 0,512", "--output must be M,N up to 127,511, not '0,512'"),
    ("aie_ml_v2 --output 128,0", "--output must be M,N up to 127,511, not '128,0'"),
    ("trainium3 --output 0,0 --row 96", "step must be 0 to 95, not 96"),
    ("tensix --output 0,0 --step 96", "step must be 0 to 95, not 96"),
    ("aie_ml_v2 --output 0,0 --step 24", "step must be 0 to 23, not 24"),
    ("trainium3 --output 0,0 --moving 1", "--output and --moving explain different things; give one of them"),
    ("tensix --output 0,0 --phase 1", "--output and --phase explain different things; give one of them"),
    ("aie_ml_v2 --output 0,0 --acc1 1", "--output and --acc1 explain different things; give one of them"),
    ("aie_ml_v2 --output 0,0 --negate acc1", "--output and --negate explain different things; give one of them"),
    ("trainium3 --stationary 0,0,0,0 --moving 0,0,0,0 --row 3", "--row goes with --output"),
    ("tensix --src-a 1 --src-b 1 --step 0", "--step goes with --output"),
    ("aie_ml_v2 --x 1 --y 1 --step 0", "--step goes with --output"),
    ("trainium3 --output 0,0 --a x.npy", "--b is missing; --a and --b go together"),
    ("tensix --output 0,0 --b x.npy", "--a is missing; --a and --b go together"),
    ("aie_ml_v2 --output 0,0 --a x.npy", "--b is missing; --a and --b go together"),
    ("trainium3 --output 0,0 --format fp9", f"format of trainium3 must be {names('trainium3')}, not 'fp9'"),
    (
        "tensix --output 0,0 --format mxfp4",
        f"format of tensix must be {names('tensix')}, not 'mxfp4_hifi4'; did you mean 'bfp4_hifi4'?",
    ),
    ("tensix --output 0,0 --format int8", "--a and --b must be matrices of whole numbers with --format int8_hifi4"),
    ("aie_ml_v2 --output 0,0 --format int8", "--a and --b must be matrices of whole numbers with --format int8"),
    ("trainium3 --stationary 1,2,3,100 --moving 0,0,0,0", no_word("--stationary", "E4M3FN", 8, "100")),
    ("trainium3 --stationary 1,2,3 --moving 0,0,0,0", "--stationary must have 4 codes or numbers, not 3"),
    ("trainium3 --stationary 1,2,3,4 --moving 0,0,0,0 --scales 3,1", no_word("--scales", "E8M0", 8, "3")),
    (
        "trainium3 --stationary 1,2,3,4 --moving 0,0,0,0 --moving-format E2M1",
        "--moving-format must be E4M3FN or E5M2, not 'E2M1'",
    ),
    ("tensix --src-a 1 --src-b 1 --phase 4", "phase must be 0 to 3, not 4"),
    (
        "tensix --src-a 1 --src-b 1 --phase 0 --fidelity LoFi",
        "--fidelity and --phase say the same; give one of them",
    ),
    ("tensix --src-a 1.3 --src-b 1", no_word("--src-a", "BF16", 19, "1.3")),
    ("tensix --src-a 1 --src-b 1fc00", no_word("--src-b", "BF16", 19, "1fc00")),
    ("tensix --src-a 0x80000 --src-b 1", no_word("--src-a", "BF16", 19, "0x80000")),
    ("tensix --src-a 1e-40 --src-b 1", no_word("--src-a", "BF16", 19, "1e-40")),
    ("tensix --src-a 1 --src-b 1 --srca-format INT16", no_word("--src-a", "INT16", 19, "1")),
    ("tensix --style INT8 --src-a 1.5 --src-b 1", no_word("--src-a", "INT8", 19, "1.5")),
    (
        "tensix --style FP16 --src-a 0x8000 --src-b 1",
        "--src-a must hold exponents of 5 bits with FP16, not exponents above 31",
    ),
    (f"tensix --src-a 1{16 * ',1'} --src-b 1", "--src-a must have up to 16 words, not 17"),
    ("tensix --src-a 1 --src-b 1 --style x", "--style must be 'BF16', 'FP16', 'TF32' or 'INT8', not 'x'"),
    ("tensix --src-a 1 --src-b 1 --style INT8 --dst16", "dst32 must be True with style INT8, not False"),
    ("aie_ml_v2 --x 1 --y 1 --format fp8", f"--format must be {one_of(map(repr, FORMATS))}, not 'fp8'"),
    (
        "aie_ml_v2 --x 1 --y 1 --format bf16 --y-format mx9",
        "--y-format must be bf16 or fp16 with --format bf16, not 'mx9'",
    ),
    ("aie_ml_v2 --x 1.3 --y 1 --format bf16", no_word("--x", "BF16", 16, "1.3")),
    ("aie_ml_v2 --x 1 --y 500 --format fp8_e4m3fn", no_word("--y", "E4M3FN", 8, "500")),
    (f"aie_ml_v2 --x 1{8 * ',1'} --y 1 --format fp16", "--x must have up to 8 operands, not 9"),
    (f"aie_ml_v2 --x 1{16 * ',1'} --y 1", "--x must have up to 16 operands, not 17"),
    (
        "aie_ml_v2 --format bfp16ebs8 --x 7f/00/64 --y 7f/1",
        "--x must be a hexadecimal byte and codes, as 7f/64,-3, not '7f/00/64'",
    ),
    ("aie_ml_v2 --x 7f/ --y 1", "--x must be two hexadecimal bytes and codes, as 7f/01/64,-3, not '7f/'"),
    ("aie_ml_v2 --x 7f/00/1 --y 7f/00/1,4 --format mx4", "--y must be -4 to 3, not '4'"),
    ("aie_ml_v2 --x 128 --y 1 --format int8", "--x must be -128 to 127, not '128'"),
    ("aie_ml_v2 --x 1 --y 1 --rounding 4", "--rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not 4"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence(line, sentence):
    result = CliRunner().invoke(explain_command, line)
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == sentence
