// Processing element of a systolic array, an exercise for `bitpath check` in the style of small TPUs: written by hand.
//
//   acc_o = truncated(clear ? a*w : acc_o + a*w)      when en is 1
//
// a and w are FP8 (E4M3) numbers without NaN: all codes are finite. Subnormal elements are read as zero. The sum is exact and
// is truncated to BF16; a subnormal sum becomes zero, and one beyond BF16's range its largest number. a passes on to the
// right neighbour.

module acc_pe #(
    parameter int AccBits = 16,
    parameter logic TruncateSum = 1'b1
) (
    input  logic                 clk,
    input  logic                 rst_n,
    input  logic                 en,
    input  logic                 clear,
    input  logic [7:0]           a_i,
    input  logic [7:0]           w_i,
    output logic [7:0]           a_o,
    output logic [AccBits-1:0]   acc_o
);

  // The sum in a window whose bit 0 is 2**-140; BF16's smallest normal number is bit 14, its largest ends at bit 267.
  localparam int Bits = 272;
  typedef logic signed [Bits-1:0] window_t;

  wire [7:0] digits = {a_i[6:3] != 0, a_i[2:0]} * {w_i[6:3] != 0, w_i[2:0]};
  wire both = a_i[6:3] != 0 && w_i[6:3] != 0;
  // Significands have three fraction bits each, and the exponents a bias of 7 each.
  wire [8:0] place = 9'(a_i[6:3]) + 9'(w_i[6:3]) + 9'd120;
  wire window_t product = both ? window_t'(digits) << place : '0;

  wire window_t held = window_t'({acc_o[14:7] != 0, acc_o[6:0]}) << (9'd6 + 9'(acc_o[14:7]));
`ifdef FAULT
  // clear is one cycle late.
  logic clear_q;
  always_ff @(posedge clk) if (en) clear_q <= clear;
  wire starts = clear_q;
`else
  wire starts = clear;
`endif
  wire window_t start = starts || acc_o[14:7] == 0 ? '0 : acc_o[15] ? -held : held;
  wire window_t sum = start + (a_i[7] ^ w_i[7] ? -product : product);

  wire sign = sum < 0;
  wire [Bits-1:0] magnitude = sign ? -sum : sum;
  logic [8:0] lead;
  always_comb begin
    lead = 0;
    for (int k = 0; k < Bits; k++) if (magnitude[k]) lead = 9'(k);
  end
  wire [6:0] fraction = 7'(magnitude >> (lead - 9'd7));
  wire [8:0] exponent = lead - 9'd13;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      a_o <= '0;
      acc_o <= '0;
    end else if (en) begin
      a_o <= a_i;
      acc_o <= lead < 14 ? {sign, 15'h0} : exponent > 254 ? {sign, 15'h7f7f} : {sign, exponent[7:0], fraction};
    end
  end

endmodule
