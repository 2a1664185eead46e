"""Coverage of units: functional bins, lines and toggles of the emitted Verilog, constants proved, waivers."""
