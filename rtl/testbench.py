"""Self-checking Verilog testbench of a flat module, with its vectors as ``$readmemh`` files.

``NAME_inputs.hex`` has a line for each cycle: all inputs, the first port lowest. ``NAME_expected.hex`` has a line for each expected
value, in the order of cycles: the cycle from 1 on (32 bits), the number of the output (16 bits), the value. A cycle sets the inputs
at the falling edge of ``clk`` and compares before the rising edge; without a clock, after the inputs have settled. A payload is
compared in the cycle of its transfer, in which its ``valid`` must be 1; of an output ``name`` with a port ``name_valid``, the parts
that are valid, and 0 for the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bitpath.rtl.flat import FlatPort

CYCLE_BITS, OUTPUT_BITS = 32, 16
SHOWN = 20
"""Failures that the testbench prints."""


@dataclass(frozen=True)
class Vectors:
    """Inputs of a packed module in each cycle, and the outputs that are expected of it.

    Attributes
    ----------
    inputs : names of the input ports, reset included.
    steps : their values in each cycle.
    expected : cycle from 0 on, output port and value, in the order of the cycles.
    """

    inputs: Sequence[str]
    steps: Sequence[Sequence[int]]
    expected: Sequence[tuple[int, str, int]]


def file_names(name: str) -> tuple[str, str, str]:
    """Return the names of the testbench, its inputs and its expected values."""
    return f"{name}_tb.v", f"{name}_inputs.hex", f"{name}_expected.hex"


def bench_files(name: str, ports: Sequence[FlatPort], vectors: Vectors) -> dict[str, str]:
    """Return the texts of the testbench's files by their names.

    Raises ValueError if nothing is expected.
    """
    if not vectors.expected:
        raise ValueError(f"{name}: a testbench needs at least one expected value")
    bench, inputs, expected = file_names(name)
    packed = {key: list(group) for key, group in groupby(ports, key=lambda port: port.packed)}
    widths = {key: sum(port.bits for port in parts) for key, parts in packed.items()}
    order = [key for key, parts in packed.items() if parts[0].direction == "input" and key != "clk"]
    outputs = [key for key, parts in packed.items() if parts[0].direction == "output"]
    columns = [vectors.inputs.index(key) for key in order]
    value_bits = _value_bits(outputs, widths)
    rows = [
        _joined([(step[column], widths[key]) for key, column in zip(order, columns, strict=True)])
        for step in vectors.steps
    ]
    entries = [
        _joined([(cycle + 1, CYCLE_BITS), (outputs.index(key), OUTPUT_BITS), (value, value_bits)])
        for cycle, key, value in vectors.expected
    ]
    input_bits = sum(widths[key] for key in order)
    entry_bits = CYCLE_BITS + OUTPUT_BITS + value_bits
    return {
        bench: _text(name, ports, outputs, widths, (len(rows), input_bits), (len(entries), entry_bits)),
        inputs: _hex(rows, input_bits),
        expected: _hex(entries, entry_bits),
    }


def _value_bits(outputs: Sequence[str], widths: Mapping[str, int]) -> int:
    """Return the bits of the widest output, rounded up to whole hexadecimal digits."""
    return -(-max(widths[key] for key in outputs) // 4) * 4


def _joined(parts: Sequence[tuple[int, int]]) -> int:
    """Concatenate values of given widths, the first lowest."""
    word, place = 0, 0
    for value, bits in parts:
        word |= value << place
        place += bits
    return word


def _hex(words: Sequence[int], bits: int) -> str:
    return "".join(f"{word:0{-(-bits // 4)}x}\n" for word in words)


def _text(
    name: str,
    ports: Sequence[FlatPort],
    outputs: Sequence[str],
    widths: Mapping[str, int],
    stimulus: tuple[int, int],
    expectation: tuple[int, int],
) -> str:
    bench, inputs, expected = file_names(name)
    (cycles, input_bits), (vectors, entry_bits) = stimulus, expectation
    clocked = "clk" in widths
    value_bits = _value_bits(outputs, widths)
    connections, declared, place = [], [], 0
    for port in ports:
        if port.name == "clk":
            connections.append("    .clk(clk)")
        elif port.direction == "input":
            connections.append(f"    .{port.name}(row[{_range(place, port.bits)}])")
            place += port.bits
        else:
            declared.append(f"  wire {f'[{port.bits - 1}:0] ' * (port.bits > 1)}{port.name};")
            connections.append(f"    .{port.name}({port.name})")
    cases = []
    for number, key in enumerate(outputs):
        parts = [port.name for port in ports if port.packed == key][::-1]
        padding = [f"{value_bits - widths[key]}'b0"] * (widths[key] < value_bits)
        if count := widths.get(f"{key}_valid", 0):
            masks = [f"{{{widths[key] // count}{{{key}_valid[{part}]}}}}" for part in reversed(range(count))]
            parts = [f"{{{', '.join(parts)}}} & {{{', '.join(masks)}}}"]
        valid = next((p.name for p in ports if key.endswith("__payload") and p.packed == f"{key[:-9]}__valid"), "1'b1")
        cases += [
            f"      {number}: begin",
            f"        got = {{{', '.join(padding + parts)}}};",
            f"        valid = {valid};",
            f'        port = "{key}";',
            "      end",
        ]
    lines = [
        f"// Testbench of {name}: plays {inputs} and compares {vectors} values with {expected}.",
        "// The expected values are those of bitpath's golden model. Run it in the folder of these files:",
        f"// $ iverilog -g2012 -o {name}_tb {bench} {name}.v && vvp -n {name}_tb",
        f"// $ verilator --binary --timing --top-module {name}_tb {bench} {name}.v && obj_dir/V{name}_tb",
        "/* verilator lint_off DECLFILENAME */",
        "/* verilator lint_off BLKSEQ */",
        "",
        f"module {name}_tb;",
        f"  localparam integer CYCLES = {cycles};",
        f"  localparam integer VECTORS = {vectors};",
        f"  reg [{input_bits - 1}:0] inputs [0:CYCLES-1];",
        f"  reg [{entry_bits - 1}:0] expected [0:VECTORS-1];",
        f"  reg [{input_bits - 1}:0] row;",
        f"  reg [{value_bits - 1}:0] got, wanted;",
        "  reg valid;",
        f"  reg [{8 * max(map(len, outputs)) - 1}:0] port;",
        # Verilator 5.006 takes values from before the loop for those after it if this process assigns them before the loop.
        "  integer cycle, compared = 0, failed = 0;",
        *(["  reg clk;"] if clocked else []),
        *declared,
        "",
        f"  {name} dut (",
        ",\n".join(connections),
        "  );",
        "",
        "  // The output of this number, and its valid.",
        "  task look(input integer number);",
        "    case (number)",
        *cases,
        "      default: begin",
        "        got = 0;",
        "        valid = 0;",
        "        port = 0;",
        "      end",
        "    endcase",
        "  endtask",
        "",
        "  initial begin",
        f'    $readmemh("{inputs}", inputs);',
        f'    $readmemh("{expected}", expected);',
        *(["    clk = 0;"] if clocked else []),
        "    for (cycle = 0; cycle < CYCLES; cycle = cycle + 1) begin",
        "      row = inputs[cycle];",
        "      #5;",
        f"      while (compared < VECTORS && expected[compared][{CYCLE_BITS - 1}:0] === cycle + 1) begin",
        f"        wanted = expected[compared][{entry_bits - 1}:{CYCLE_BITS + OUTPUT_BITS}];",
        f"        look({{16'b0, expected[compared][{_range(CYCLE_BITS, OUTPUT_BITS)}]}});",
        "        if (valid !== 1'b1 || got !== wanted) begin",
        "          failed = failed + 1;",
        f"          if (failed <= {SHOWN})",
        '            $display("cycle %0d, %0s: got %h, valid %b, expected %h", cycle + 1, port, got, valid, wanted);',
        "        end",
        "        compared = compared + 1;",
        "      end",
        *(["      clk = 1;", "      #5;", "      clk = 0;"] if clocked else []),
        "    end",
        "    // A value whose cycle never came, as in a damaged file, has failed.",
        "    failed = failed + VECTORS - compared;",
        "    if (failed != 0) begin",
        '      $display("FAIL %0d of %0d", failed, VECTORS);',
        "      $fatal(1);",
        "    end",
        '    $display("PASS %0d vectors", VECTORS);',
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _range(low: int, bits: int) -> str:
    return f"{low + bits - 1}:{low}" if bits > 1 else str(low)
