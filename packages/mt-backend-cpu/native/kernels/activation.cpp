// Activation functions and their derivatives.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

constexpr float SQRT_HALF = 0.70710678118654752440f;
// sqrt(2 / pi) and the cubic coefficient of the approximation of gelu by tanh.
constexpr float GELU_SCALE = 0.79788456080286535588f, GELU_CUBIC = 0.044715f;

MT_INLINE float gelu_inner(float x) { return GELU_SCALE * x * (1.f + GELU_CUBIC * x * x); }


void gelu_erf(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return 0.5f * v * (1.f + erf(v * SQRT_HALF)); });
}

void gelu_tanh(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return 0.5f * v * (1.f + tanh(gelu_inner(v))); });
}

void silu_(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return v / (1.f + exp(-v)); });
}

void sigmoid_(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return sigmoid(v); });
}

void tanh_(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return tanh(v); });
}

void erf_(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return erf(v); });
}

void exp_(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return exp(v); });
}

// -0 is not below 0, and neither is NaN.
void relu(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return v < 0.f ? 0.f : v; });
}

void hardswish(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) {
        const float shifted = v + 3.f, above = shifted < 0.f ? 0.f : shifted;
        return v * (above > 6.f ? 6.f : above) / 6.f;
    });
}

// 0 of what is not a number.
void sign(const float* x, float* result, int64_t n) {
    map(x, result, n, [](float v) { return (v > 0.f ? 1.f : 0.f) - (v < 0.f ? 1.f : 0.f); });
}

void leaky_relu(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float slope = numbers[0];
    map(x[0], result, n, [slope](float v) { return v > 0.f ? v : v * slope; });
}

void gelu_erf_backward(const float* grad, const float* x, float* result, int64_t n) {
    map2(grad, x, result, n, [](float g, float v) {
        return g * (0.5f * (1.f + erf(v * SQRT_HALF)) + v * normal_density(v));
    });
}

void gelu_tanh_backward(const float* grad, const float* x, float* result, int64_t n) {
    map2(grad, x, result, n, [](float g, float v) {
        const float t = tanh(gelu_inner(v));
        const float slope = GELU_SCALE * (1.f + 3.f * GELU_CUBIC * v * v);
        return g * (0.5f * (1.f + t) + 0.5f * v * (1.f - t * t) * slope);
    });
}

void silu_backward(const float* grad, const float* x, float* result, int64_t n) {
    map2(grad, x, result, n, [](float g, float v) {
        const float s = sigmoid(v);
        return g * s * (1.f + v * (1.f - s));
    });
}

void sigmoid_backward(const float* grad, const float* y, float* result, int64_t n) {
    map2(grad, y, result, n, [](float g, float v) { return g * (1.f - v) * v; });
}

void tanh_backward(const float* grad, const float* y, float* result, int64_t n) {
    map2(grad, y, result, n, [](float g, float v) { return g * (1.f - v * v); });
}

}  // namespace

extern const ActivationTable activation;
const ActivationTable activation = {
    gelu_erf, gelu_tanh, silu_, sigmoid_, tanh_, erf_, exp_, relu, hardswish, sign, leaky_relu,
    gelu_erf_backward, gelu_tanh_backward, silu_backward, sigmoid_backward, tanh_backward,
};

}  // namespace
