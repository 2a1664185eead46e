"""Units' Verilog against golden in volume: vectors in files, played by C++, answers compared as arrays."""
