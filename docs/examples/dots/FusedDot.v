// Fused dot product of four FP16 pairs and an FP32 addend, an exercise for `bitpath check` in the style of emitted Chisel:
// flat names, one module, no handshake, combinational. Written by hand.
//
//   io_out = round(io_a_0*io_b_0 + ... + io_a_3*io_b_3 + io_c)
//
// The sum is exact in a window of 330 bits whose bit 0 is 2**-150; it rounds once, to nearest even.

module FusedDot (
  input         clock,
  input         reset,
  input  [15:0] io_a_0,
  input  [15:0] io_a_1,
  input  [15:0] io_a_2,
  input  [15:0] io_a_3,
  input  [15:0] io_b_0,
  input  [15:0] io_b_1,
  input  [15:0] io_b_2,
  input  [15:0] io_b_3,
  input  [31:0] io_c,
  output [31:0] io_out
);

  // A product of two finite FP16 numbers, as a magnitude in the window.
  function [329:0] product(input [15:0] a, input [15:0] b);
    reg [4:0] a_exponent, b_exponent;
    reg [21:0] digits;
    begin
      a_exponent = a[14:10] == 5'd0 ? 5'd1 : a[14:10];
      b_exponent = b[14:10] == 5'd0 ? 5'd1 : b[14:10];
      digits = {a[14:10] != 5'd0, a[9:0]} * {b[14:10] != 5'd0, b[9:0]};
      product = {308'd0, digits} << (9'd100 + {4'd0, a_exponent} + {4'd0, b_exponent});
    end
  endfunction

  // Bits of a pair: its product is NaN, plus infinity, minus infinity.
  function [2:0] special(input [15:0] a, input [15:0] b);
    reg a_top, b_top, nan, infinite;
    begin
      a_top = a[14:10] == 5'd31;
      b_top = b[14:10] == 5'd31;
      nan = a_top && a[9:0] != 10'd0 || b_top && b[9:0] != 10'd0;
      nan = nan || a_top && b[14:0] == 15'd0 || b_top && a[14:0] == 15'd0;
      infinite = (a_top || b_top) && !nan;
      special = {nan, infinite && !(a[15] ^ b[15]), infinite && (a[15] ^ b[15])};
    end
  endfunction

  wire [3:0] negative = {io_a_3[15] ^ io_b_3[15], io_a_2[15] ^ io_b_2[15], io_a_1[15] ^ io_b_1[15], io_a_0[15] ^ io_b_0[15]};
  wire [329:0] product_0 = product(io_a_0, io_b_0);
  wire [329:0] product_1 = product(io_a_1, io_b_1);
  wire [329:0] product_2 = product(io_a_2, io_b_2);
  wire [329:0] product_3 = product(io_a_3, io_b_3);
  wire [7:0] c_exponent = io_c[30:23] == 8'd0 ? 8'd1 : io_c[30:23];
  wire [329:0] c_magnitude = {306'd0, io_c[30:23] != 8'd0, io_c[22:0]} << c_exponent;

  wire [329:0] term_0 = negative[0] ? -product_0 : product_0;
  wire [329:0] term_1 = negative[1] ? -product_1 : product_1;
  wire [329:0] term_2 = negative[2] ? -product_2 : product_2;
  wire [329:0] term_3 = negative[3] ? -product_3 : product_3;
  wire [329:0] c_term = io_c[31] ? -c_magnitude : c_magnitude;
  wire [329:0] sum = term_0 + term_1 + (term_2 + term_3) + c_term;

  wire [2:0] any = special(io_a_0, io_b_0) | special(io_a_1, io_b_1) | special(io_a_2, io_b_2) | special(io_a_3, io_b_3);
  wire c_top = io_c[30:23] == 8'd255;
  wire c_infinite = c_top && io_c[22:0] == 23'd0;
  wire plus = any[1] || c_infinite && !io_c[31];
  wire minus = any[0] || c_infinite && io_c[31];
  wire nan = any[2] || c_top && !c_infinite || plus && minus;

  wire sign = sum[329];
  wire [329:0] magnitude = sign ? -sum : sum;
  reg [8:0] lead;
  integer k;
  always @(*) begin
    lead = 9'd0;
    for (k = 0; k < 330; k = k + 1)
      if (magnitude[k]) lead = k[8:0];
  end
  // FP32's smallest subnormal is bit 1.
  wire [8:0] last = lead > 9'd24 ? lead - 9'd23 : 9'd1;
  wire [329:0] kept = magnitude >> last;
  wire [329:0] rest = magnitude & ~({330{1'b1}} << last);
  wire [329:0] half = 330'd1 << (last - 9'd1);
`ifdef FAULT
  wire up = rest >= half;
`else
  wire up = rest > half || rest == half && kept[0];
`endif
  wire [32:0] code = {1'b0, last - 9'd1, 23'd0} + {9'd0, kept[23:0]} + {32'd0, up};
  wire overflow = lead > 9'd277 || code >= 33'h7f800000;
  wire all_negative = &negative && io_c[31];
  wire [31:0] number = sum == 330'd0 ? {all_negative, 31'd0} : {sign, overflow ? 31'h7f800000 : code[30:0]};
  assign io_out = nan ? 32'h7fc00000 : plus || minus ? {minus, 31'h7f800000} : number;

endmodule
