// What each level of instructions offers: one table for each operator family, of functions over contiguous memory.
//
// Functions run in the calling thread; whoever calls them divides the work. None of them allocates or fails.
#pragma once

#include <cstdint>

namespace mt {

// n elements -> n elements; the result may be the argument itself, but must not overlap it otherwise.
using Map = void (*)(const float* x, float* result, int64_t n);
// The same of two arguments.
using Map2 = void (*)(const float* a, const float* b, float* result, int64_t n);

struct ActivationTable {
    Map gelu_erf, gelu_tanh, silu, sigmoid, tanh, erf, exp;
    // grad, x -> gradient of x.
    Map2 gelu_erf_backward, gelu_tanh_backward, silu_backward;
    // grad, result -> gradient.
    Map2 sigmoid_backward, tanh_backward;
};

// rows x width, both contiguous -> the same; width > 0.
using Rows = void (*)(const float* x, float* result, int64_t rows, int64_t width);
// grad, result -> gradient.
using Rows2 = void (*)(const float* grad, const float* result, float* gradient, int64_t rows, int64_t width);

struct SoftmaxTable {
    Rows softmax, log_softmax;
    Rows2 softmax_backward, log_softmax_backward;
};

struct NormTable {
    // x (rows, width) -> result (rows, width), mean (rows), rstd (rows); weight and bias (width) may be null.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                       float* rstd, int64_t rows, int64_t width);
};

struct HalfTable {
    void (*from_bfloat16)(const uint16_t* x, float* result, int64_t n);
    void (*to_bfloat16)(const float* x, uint16_t* result, int64_t n);
    void (*from_float16)(const uint16_t* x, float* result, int64_t n);
    void (*to_float16)(const float* x, uint16_t* result, int64_t n);
};

struct Tables {
    const ActivationTable* activation;
    const SoftmaxTable* softmax;
    const NormTable* norm;
    const HalfTable* half;
};

}  // namespace mt
