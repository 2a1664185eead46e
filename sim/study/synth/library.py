"""Default Liberty file for areas and delays: generic CMOS cells, generated from a table.

The cells model a textbook and no process. A transistor has a quarter of the area of a NAND2, whose area is 1, so that areas are
gate equivalents. Delays are logical effort: parasitic delay plus effort times load, with 65 ps for an inverter that drives four
others, as in about 130 nm. There are no wires. The figures of a real library differ: compare ratios.
"""

from dataclasses import dataclass

NAME = "generic_cells"
TAU_NS = 0.013
"""Delay of an inverter with its own input load, a fifth of a fan-out of four."""
INPUT_PF = 0.002
"""Input capacitance of the smallest inverter."""
SLEW_SHARE = 0.1
"""Share of the input transition time that adds to the delay."""
SIZES = (1, 2, 4)
"""Drive strengths: transistors get wider, the rest of the cell does not, see :meth:`Cell.area`."""
FIXED_SHARE = 0.5
SLEWS_NS = (0.0, 1.0)
LOADS_PF = (0.0, 0.5)
"""Corners of the tables; values are linear, so that two points each suffice."""


@dataclass(frozen=True)
class Cell:
    """A combinational cell of the library.

    Attributes
    ----------
    name, function : in Liberty's terms; inputs are single capitals.
    transistors : number of transistors, which gives the area.
    effort : input load relative to an inverter of the same drive.
    parasitic : delay without load, in units of :data:`TAU_NS`.
    sense : timing sense of all inputs.
    """

    name: str
    function: str
    transistors: int
    effort: float
    parasitic: float
    sense: str = "negative_unate"

    @property
    def inputs(self) -> list[str]:
        return sorted({letter for letter in self.function if letter.isalpha()})

    def area(self, size: int) -> float:
        """Return the gate equivalents of a drive strength."""
        return self.transistors / 4 * (FIXED_SHARE + (1 - FIXED_SHARE) * size)


CELLS = (
    Cell("inv", "!A", 2, 1, 1),
    Cell("buf", "A", 4, 1, 2.5, "positive_unate"),
    Cell("nand2", "!(A&B)", 4, 4 / 3, 2),
    Cell("nand3", "!(A&B&C)", 6, 5 / 3, 3),
    Cell("nand4", "!(A&B&C&D)", 8, 2, 4),
    Cell("nor2", "!(A|B)", 4, 5 / 3, 2),
    Cell("nor3", "!(A|B|C)", 6, 7 / 3, 3),
    Cell("and2", "A&B", 6, 4 / 3, 3.5, "positive_unate"),
    Cell("or2", "A|B", 6, 5 / 3, 3.5, "positive_unate"),
    Cell("aoi21", "!((A&B)|C)", 6, 2, 7 / 3),
    Cell("aoi22", "!((A&B)|(C&D))", 8, 2, 4),
    Cell("oai21", "!((A|B)&C)", 6, 2, 7 / 3),
    Cell("oai22", "!((A|B)&(C|D))", 8, 2, 4),
    Cell("xor2", "(A&!B)|(!A&B)", 10, 3, 4, "non_unate"),
    Cell("xnor2", "(A&B)|(!A&!B)", 10, 3, 4, "non_unate"),
    Cell("mux2", "(A&!S)|(B&S)", 12, 2, 5, "non_unate"),
    # Carry of a mirror full adder; the sum is two XORs, because the mapper supports one output a cell.
    Cell("maji3", "!((A&B)|(A&C)|(B&C))", 10, 2, 4),
)
FLIP_FLOP = "dff"
FLIP_FLOP_TRANSISTORS = 22


def liberty() -> str:
    """Return the text of the Liberty file."""
    loads, slews = (", ".join(f"{value:g}" for value in values) for values in (LOADS_PF, SLEWS_NS))
    head = f"""library({NAME}) {{
  delay_model : table_lookup;
  time_unit : "1ns";
  voltage_unit : "1V";
  current_unit : "1mA";
  pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW";
  capacitive_load_unit(1, pf);
  input_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20;
  slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80;
  slew_upper_threshold_pct_fall : 80;
  default_max_transition : {SLEWS_NS[-1]:g};
  lu_table_template(linear) {{
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1("{slews}");
    index_2("{loads}");
  }}
"""
    cells = [_cell(cell, size) for cell in CELLS for size in SIZES]
    return head + "".join([*cells, _flip_flop()]) + "}\n"


def _cell(cell: Cell, size: int) -> str:
    load = INPUT_PF * cell.effort * size
    pins = "".join(f"    pin({name}) {{ direction : input; capacitance : {load:g}; }}\n" for name in cell.inputs)
    timing = "".join(_timing(name, cell, size) for name in cell.inputs)
    return (
        f"  cell({cell.name}_x{size}) {{\n    area : {cell.area(size):g};\n{pins}"
        f'    pin(Y) {{\n      direction : output;\n      function : "{cell.function}";\n'
        f"      max_capacitance : {LOADS_PF[-1]:g};\n{timing}    }}\n  }}\n"
    )


def _timing(name: str, cell: Cell, size: int) -> str:
    """Return the timing from an input to Y; rising and falling are equal."""
    ohms = TAU_NS / INPUT_PF / size
    delay = [[cell.parasitic * TAU_NS + SLEW_SHARE * slew + ohms * load for load in LOADS_PF] for slew in SLEWS_NS]
    # The transition time is about the charging time of the output.
    slew = [[cell.parasitic * TAU_NS + ohms * load for load in LOADS_PF] for _ in SLEWS_NS]
    tables = {"cell_rise": delay, "cell_fall": delay, "rise_transition": slew, "fall_transition": slew}
    text = "".join(f"        {kind}(linear) {{ values({_rows(rows)}); }}\n" for kind, rows in tables.items())
    return f'      timing() {{\n        related_pin : "{name}";\n        timing_sense : {cell.sense};\n{text}      }}\n'


def _rows(rows: list[list[float]]) -> str:
    return ", ".join('"' + ", ".join(f"{value:.6g}" for value in row) + '"' for row in rows)


def _flip_flop() -> str:
    return f"""  cell({FLIP_FLOP}) {{
    area : {FLIP_FLOP_TRANSISTORS / 4:g};
    ff(IQ, IQN) {{ clocked_on : "CK"; next_state : "D"; }}
    pin(CK) {{ direction : input; clock : true; capacitance : {INPUT_PF:g}; }}
    pin(D) {{ direction : input; capacitance : {INPUT_PF:g}; }}
    pin(Q) {{ direction : output; function : "IQ"; }}
  }}
"""
