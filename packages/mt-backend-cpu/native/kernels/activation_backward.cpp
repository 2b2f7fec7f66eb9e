// Derivatives of activation functions that are linear in pieces.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void threshold_backward(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float threshold = numbers[0];
    map2(x[0], x[1], result, n, [threshold](float g, float v) { return v <= threshold ? 0.f : g; });
}

void hardtanh_backward(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float low = numbers[0], high = numbers[1];
    map2(x[0], x[1], result, n, [low, high](float g, float v) { return (v <= low) | (v >= high) ? 0.f : g; });
}

void leaky_relu_backward(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float slope = numbers[0];
    map2(x[0], x[1], result, n, [slope](float g, float v) { return v > 0.f ? g : g * slope; });
}

void hardsigmoid_backward(const float* grad, const float* x, float* result, int64_t n) {
    map2(grad, x, result, n, [](float g, float v) { return (v > -3.f) & (v < 3.f) ? g * (1.f / 6.f) : 0.f; });
}

void hardswish_backward(const float* grad, const float* x, float* result, int64_t n) {
    map2(grad, x, result, n, [](float g, float v) {
        const float inside = v < 3.f ? g * (v / 3.f + 0.5f) : g;
        return v <= -3.f ? 0.f : inside;
    });
}

}  // namespace

extern const ActivationBackwardTable activation_backward;
const ActivationBackwardTable activation_backward = {
    threshold_backward, hardtanh_backward, leaky_relu_backward, hardsigmoid_backward, hardswish_backward,
};

}  // namespace
