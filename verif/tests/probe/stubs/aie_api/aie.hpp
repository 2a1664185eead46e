// Declarations of the AIE API that the device script of AIE-ML v2 uses: enough to check its syntax and types, without arithmetic.
#pragma once
#include <cstdint>

struct accfloat {};
struct mx9 {};
struct bfp16ebs8 {};
struct bfloat16 {
    std::uint16_t code;
};

namespace aie {
enum class rounding_mode {
    floor,
    ceil,
    symmetric_floor,
    symmetric_ceil,
    negative_inf,
    positive_inf,
    symmetric_zero,
    symmetric_inf,
    conv_even,
    conv_odd
};
void set_rounding(rounding_mode mode);

template <typename Element, unsigned Elements> struct vector {};
template <typename Element, unsigned Elements> struct block_vector {};
template <typename Block> struct transposed {};
template <typename Block> transposed<Block> op_transpose(const Block &);

template <unsigned Elements, typename Element> vector<Element, Elements> load_v(const Element *);
template <typename Element, unsigned Elements> void store_v(Element *, const vector<Element, Elements> &);

// A vector of FP32 or BF16, or of blocks.
template <typename Element, unsigned Elements> struct converted {
    using type = block_vector<Element, Elements>;
};
template <unsigned Elements> struct converted<float, Elements> {
    using type = vector<float, Elements>;
};

template <typename Tag, unsigned Lanes> struct accum {
    template <typename Element> typename converted<Element, Lanes>::type to_vector() const;
    template <typename Element> void from_vector(const vector<Element, Lanes> &);
};

template <typename Element, unsigned Elements> struct block_vector_input_buffer_stream {
    explicit block_vector_input_buffer_stream(const Element *);
    block_vector<Element, Elements> pop();
};
template <typename Element, unsigned Elements> struct block_vector_output_buffer_stream {
    explicit block_vector_output_buffer_stream(Element *);
    void push(const block_vector<Element, Elements> &);
    void flush();
};

template <unsigned M, unsigned K, unsigned N, typename A, typename B, typename Tag> struct mmul {
    using Y = transposed<block_vector<B, K * N>>;
    void mul(const block_vector<A, M * K> &, const Y &);
    void mac(const block_vector<A, M * K> &, const Y &);
    accum<Tag, M * N> to_accum() const;
};
template <unsigned M, unsigned K, unsigned N, typename Tag> struct mmul<M, K, N, bfloat16, bfloat16, Tag> {
    void mul(const vector<bfloat16, M * K> &, const vector<bfloat16, K * N> &);
    void mac(const vector<bfloat16, M * K> &, const vector<bfloat16, K * N> &);
    accum<Tag, M * N> to_accum() const;
};
} // namespace aie
