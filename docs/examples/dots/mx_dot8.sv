// MX dot product of eight FP8 pairs, an exercise for `bitpath check` in the style of a vector unit's slice: written by hand.
//
//   result_o = round(2**(scale_b + scale_a - 254) * (a0*b0 + ... + a7*b7) + c)
//
// operands_i[0] and [1] are the eight elements of a and b; operands_i[2] has c in its low half. scales_i has the scale of b
// above that of a. src_fmt_i is 3 for E5M2 and 5 for E4M3, for both sides. The sum is exact in one wide window, and rounds
// once, to nearest even. A zero sum is +0, whatever its terms are. Two pipeline registers, with valid and ready.

package mx_dot8_pkg;
  typedef enum logic [2:0] {E5M2 = 3, E4M3 = 5} format_t;
endpackage

module mx_dot8 import mx_dot8_pkg::*; #(
    parameter int unsigned Terms = 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [2:0][63:0] operands_i,
    input  logic [15:0]      scales_i,
    input  format_t          src_fmt_i,
    input  logic             in_valid_i,
    output logic             in_ready_o,
    output logic [31:0]      result_o,
    output logic [4:0]       status_o,
    output logic             out_valid_o,
    input  logic             out_ready_i
);

  // Bit 0 of the window is 2**-290: the smallest product with the smallest scales. Its top takes c and every sum.
  localparam int Low = 290;
  localparam int Bits = 620;
  typedef logic signed [Bits-1:0] window_t;

  // A finite element is significand/8 * 2**(exponent - 15).
  function automatic logic [5:0] exponent(input logic e5m2, input logic [7:0] code);
    logic [5:0] field;
    field = e5m2 ? {1'b0, code[6:2]} : {2'b0, code[6:3]};
`ifndef FAULT
    if (field == 0) field = 1;
`endif
    return e5m2 ? field : field + 6'd8;
  endfunction

  function automatic logic [3:0] significand(input logic e5m2, input logic [7:0] code);
    return e5m2 ? {code[6:2] != 0, code[1:0], 1'b0} : {code[6:3] != 0, code[2:0]};
  endfunction

  wire e5m2 = src_fmt_i == E5M2;
  wire [31:0] c = operands_i[2][31:0];
  wire [9:0] scale = scales_i[7:0] + scales_i[15:8];

  window_t sum;
  logic nan, plus, minus;
  always_comb begin
    logic [7:0] a, b;
    logic a_inf, b_inf, negative;
    logic [9:0] place;
    window_t magnitude;
    magnitude = {1'b0, (Bits - 1)'({c[30:23] != 0, c[22:0]})} << (Low - 149 + (c[30:23] == 0 ? 0 : c[30:23] - 1));
    sum = c[31] ? -magnitude : magnitude;
    nan = &c[30:23] && |c[22:0] || &scales_i[7:0] || &scales_i[15:8];
    plus = c[31:0] == 32'h7f800000;
    minus = c[31:0] == 32'hff800000;
    for (int k = 0; k < Terms; k++) begin
      a = operands_i[0][8*k+:8];
      b = operands_i[1][8*k+:8];
      negative = a[7] ^ b[7];
      a_inf = e5m2 && a[6:0] == 7'h7c;
      b_inf = e5m2 && b[6:0] == 7'h7c;
      nan |= e5m2 ? a[6:0] > 7'h7c || b[6:0] > 7'h7c : &a[6:0] || &b[6:0];
      nan |= a_inf && b[6:0] == 0 || b_inf && a[6:0] == 0;
      plus |= (a_inf || b_inf) && !negative;
      minus |= (a_inf || b_inf) && negative;
      // Products are in units of 2**-36, and the scales in their sum less 254.
      place = exponent(e5m2, a) + exponent(e5m2, b) + scale;
      magnitude = window_t'(significand(e5m2, a) * significand(e5m2, b)) << place;
      sum += negative ? -magnitude : magnitude;
    end
  end

  // ---------------------------------------------------------------- first register

  wire advance = out_ready_i || !out_valid_o;
  assign in_ready_o = advance;
  logic valid_q, nan_q, plus_q, minus_q;
  window_t sum_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {out_valid_o, valid_q} <= 2'b0;
    else if (advance) {out_valid_o, valid_q} <= {valid_q, in_valid_i};
  end
  always_ff @(posedge clk_i) if (advance) {sum_q, nan_q, plus_q, minus_q} <= {sum, nan, plus, minus};

  // ---------------------------------------------------------------- second register: round to FP32

  wire sign = sum_q < 0;
  wire [Bits-1:0] magnitude = sign ? -sum_q : sum_q;
  logic [9:0] lead;
  always_comb begin
    lead = 0;
    for (int k = 0; k < Bits; k++) if (magnitude[k]) lead = 10'(k);
  end
  // The last place of the result, in bits of the window; no lower than FP32's smallest subnormal.
  wire [9:0] last = lead > 10'(Low - 149 + 23) ? lead - 10'd23 : 10'(Low - 149);
  wire [Bits-1:0] kept = magnitude >> last;
  wire [Bits-1:0] rest = magnitude & ~({Bits{1'b1}} << last);
  wire [Bits-1:0] half = Bits'(1) << (last - 1);
  wire up = rest > half || rest == half && kept[0];
  wire [32:0] code = {last - 10'(Low - 149), 23'b0} + 33'(kept[23:0]) + 33'(up);
  wire overflow = lead > 10'(Low + 128) || code >= 33'h7f800000;

  always_ff @(posedge clk_i) begin
    if (advance) begin
      status_o <= {nan_q, 1'b0, overflow, 1'b0, |rest};
      if (nan_q || plus_q && minus_q) result_o <= 32'h7fc00000;
      else if (plus_q || minus_q) result_o <= {minus_q, 31'h7f800000};
      else result_o <= {sign, overflow ? 31'h7f800000 : code[30:0]};
    end
  end

endmodule
