// MX dot product of four FP8 pairs, an exercise for `bitpath check`: written by hand, not emitted.
//
//   result = round(2**(w_scale + x_scale - 254) * (w0*x0 + w1*x1 + w2*x2 + w3*x3) + acc)
//
// The sum is exact and rounds once, to nearest even, to FP32. An element is E4M3 (OCP, no infinity) or E5M2, chosen at run
// time for each side. A scale is E8M0; its code 255 makes the result NaN. Every NaN is 0x7fc00000. A zero sum is -0 only if
// all four products and acc are negative.
//
// Three pipeline registers: products, sum and scale, result. All of them hold while the result waits for ready_i.

module mx_dot4 (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            valid_i,
    output logic            ready_o,
    input  logic [3:0][7:0] w_i,
    input  logic            w_e5m2_i,
    input  logic [7:0]      w_scale_i,
    input  logic [3:0][7:0] x_i,
    input  logic            x_e5m2_i,
    input  logic [7:0]      x_scale_i,
    input  logic [31:0]     acc_i,
    output logic            valid_o,
    input  logic            ready_i,
    output logic [31:0]     result_o
);

  // ---------------------------------------------------------------- elements

  // Largest product: 15/8 * 15/8 * 2**30. Smallest step: 2**-14/8 * 2**-14/8 = 2**-34, which is bit 0 of a product.
  localparam int ProductBits = 66;
  localparam int SumBits = ProductBits + 2;

  // A finite element is (-1)**sign * significand/8 * 2**(exponent - 14), with exponent 0 to 29.
  function automatic logic [4:0] exponent(input logic e5m2, input logic [7:0] code);
    logic [4:0] field;
    field = e5m2 ? code[6:2] : {1'b0, code[6:3]};
    if (field == 0) field = 1;  // subnormal
    return e5m2 ? field - 5'd1 : field + 5'd7;  // biases 15 and 7
  endfunction

  function automatic logic [3:0] significand(input logic e5m2, input logic [7:0] code);
    return e5m2 ? {code[6:2] != 0, code[1:0], 1'b0} : {code[6:3] != 0, code[2:0]};
  endfunction

  function automatic logic is_nan(input logic e5m2, input logic [7:0] code);
    return e5m2 ? code[6:2] == 31 && code[1:0] != 0 : code[6:0] == 7'h7f;
  endfunction

  function automatic logic is_infinite(input logic e5m2, input logic [7:0] code);
    return e5m2 && code[6:0] == 7'h7c;
  endfunction

  // ---------------------------------------------------------------- products

  logic [ProductBits-1:0] product[4];
  logic [3:0] negative, nan, infinite;

  for (genvar k = 0; k < 4; k++) begin : g_product
    wire [7:0] w = w_i[k];
    wire [7:0] x = x_i[k];
    wire [3:0] w_significand = significand(w_e5m2_i, w);
    wire [3:0] x_significand = significand(x_e5m2_i, x);
    wire [7:0] digits = w_significand * x_significand;
    wire [5:0] shift = exponent(w_e5m2_i, w) + exponent(x_e5m2_i, x);
    wire w_infinite = is_infinite(w_e5m2_i, w);
    wire x_infinite = is_infinite(x_e5m2_i, x);
    wire invalid = (w_infinite && x_significand == 0) || (x_infinite && w_significand == 0);

    assign product[k] = ProductBits'(digits) << shift;
    assign negative[k] = w[7] ^ x[7];
    assign nan[k] = is_nan(w_e5m2_i, w) || is_nan(x_e5m2_i, x) || invalid;
    assign infinite[k] = w_infinite || x_infinite;
  end

  wire acc_special = acc_i[30:23] == 8'hff;
  wire acc_nan = acc_special && acc_i[22:0] != 0;
  wire acc_infinite = acc_special && acc_i[22:0] == 0;
  wire plus_infinity = |(infinite & ~negative) || (acc_infinite && !acc_i[31]);
  wire minus_infinity = |(infinite & negative) || (acc_infinite && acc_i[31]);
  wire scale_nan = w_scale_i == 8'hff || x_scale_i == 8'hff;

  // ---------------------------------------------------------------- first register: products

  wire advance = ready_i || !valid_o;
  assign ready_o = advance;

  logic [1:0] valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {valid_o, valid_q} <= 3'b0;
    else if (advance) {valid_o, valid_q} <= {valid_q, valid_i};
  end

  logic [ProductBits-1:0] product_q[4];
  logic [3:0] negative_q;
  logic [31:0] acc_q;
  logic [8:0] scale_q;
  logic nan_q, plus_infinity_q, minus_infinity_q;
  always_ff @(posedge clk_i) begin
    if (advance) begin
      for (int k = 0; k < 4; k++) product_q[k] <= product[k];
      negative_q <= negative;
      acc_q <= acc_i;
      scale_q <= w_scale_i + x_scale_i;
      nan_q <= |nan || acc_nan || scale_nan || (plus_infinity && minus_infinity);
      plus_infinity_q <= plus_infinity;
      minus_infinity_q <= minus_infinity;
    end
  end

  // ---------------------------------------------------------------- second register: sum of products, normalised

  logic signed [SumBits:0] signed_product[4];
  for (genvar k = 0; k < 4; k++) begin : g_signed
    wire signed [SumBits:0] plus = {3'b0, product_q[k]};
    assign signed_product[k] = negative_q[k] ? -plus : plus;
  end
  wire signed [SumBits:0] sum = signed_product[0] + signed_product[1] + signed_product[2] + signed_product[3];
  wire [SumBits-1:0] magnitude = sum < 0 ? SumBits'(-sum) : SumBits'(sum);

  function automatic logic [6:0] leading_zeros(input logic [SumBits+3:0] value);
    leading_zeros = 7'(SumBits + 4);
    for (int k = 0; k < SumBits + 4; k++) if (value[k]) leading_zeros = 7'(SumBits + 3 - k);
  endfunction

  wire [6:0] zeros = leading_zeros({magnitude, 4'b0});

  logic [SumBits-1:0] sum_q;  // leading bit at the top, where the sum is not 0
  logic signed [10:0] sum_exponent_q;  // of the leading bit
  logic sum_negative_q, zero_negative_q;
  logic [31:0] acc_qq;
  logic nan_qq, plus_infinity_qq, minus_infinity_qq;
  always_ff @(posedge clk_i) begin
    if (advance) begin
      sum_q <= magnitude << zeros;
      // Bit 0 of the sum is 2**(scale - 254 - 34). A zero has an exponent below every other.
      sum_exponent_q <= magnitude == 0 ? -11'sd600 : $signed({2'b0, scale_q}) - 11'sd288 + 11'sd67 - $signed({4'b0, zeros});
      sum_negative_q <= sum < 0;
      zero_negative_q <= &negative_q && acc_q[31];
      acc_qq <= acc_q;
      nan_qq <= nan_q;
      plus_infinity_qq <= plus_infinity_q;
      minus_infinity_qq <= minus_infinity_q;
    end
  end

  // ---------------------------------------------------------------- third register: add acc, round

  localparam int Window = SumBits + 3;  // two guard bits and a sticky bit below the larger operand

  // acc has exponent -126 or more, also as a subnormal or zero, so the larger exponent never is below FP32's smallest.
  wire acc_normal = acc_qq[30:23] != 0;
  wire signed [10:0] acc_exponent = acc_normal ? $signed({3'b0, acc_qq[30:23]}) - 11'sd127 : -11'sd126;
  wire [SumBits-1:0] acc_digits = {acc_normal, acc_qq[22:0], {(SumBits - 24) {1'b0}}};

  wire sum_first = sum_exponent_q > acc_exponent;
  wire signed [10:0] larger_exponent = sum_first ? sum_exponent_q : acc_exponent;
  wire [10:0] distance = sum_first ? sum_exponent_q - acc_exponent : acc_exponent - sum_exponent_q;
  wire [Window-1:0] larger = {sum_first ? sum_q : acc_digits, 3'b0};
  wire [Window-1:0] smaller = {sum_first ? acc_digits : sum_q, 3'b0};
  wire [Window-1:0] shifted = smaller >> distance;
  wire sticky = (shifted << distance) != smaller;
  wire [Window-1:0] aligned = shifted | Window'(sticky);

  wire larger_negative = sum_first ? sum_negative_q : acc_qq[31];
  wire smaller_negative = sum_first ? acc_qq[31] : sum_negative_q;
  wire subtract = larger_negative != smaller_negative;
  wire swap = subtract && aligned > larger;
  wire [Window:0] total = !subtract ? larger + aligned : swap ? aligned - larger : larger - aligned;
  wire total_negative = total == 0 ? zero_negative_q : larger_negative ^ swap;

  // Move the leading bit to the top, but not below exponent -126: there the result is subnormal.
  wire [6:0] total_zeros = leading_zeros(total);
  wire signed [10:0] room = larger_exponent + 11'sd127;
  wire [6:0] left = $signed({4'b0, total_zeros}) > room ? room[6:0] : total_zeros;
  wire [Window:0] normal = total << left;
  // FP32's field less 1, since the leading bit adds 1; 0 for a subnormal and for zero.
  wire [9:0] exponent_field = normal[Window] ? 10'(room - $signed({4'b0, left})) : 10'd0;

  wire round_up = normal[Window-24] && (normal[Window-23] || |normal[Window-25:0]);
  wire [32:0] rounded = {exponent_field, 23'b0} + 33'(normal[Window-:24]) + 33'(round_up);
  wire overflow = rounded >= 33'h7f800000;

  always_ff @(posedge clk_i) begin
    if (advance) begin
      if (nan_qq) result_o <= 32'h7fc00000;
      else if (plus_infinity_qq || minus_infinity_qq) result_o <= {minus_infinity_qq, 31'h7f800000};
      else result_o <= {total_negative, overflow ? 31'h7f800000 : rounded[30:0]};
    end
  end

endmodule
