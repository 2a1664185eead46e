"""Units that take tens of seconds to build or to lint whole: the deep tests have them."""

LARGE = (
    "packer",
    "systolic_array",
    "core_array",
    "core",
    "tensor_engine",
    "matrix_unit",
    "tensix_engine",
    "vector_mac",
    "cascade",
    "aie_engine",
    "psum",
    "stochastic_psum",
    "rmsnorm_quant",
    "exponential",
    "quantize_mx",
)
