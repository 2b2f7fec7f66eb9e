// Softmax and its logarithm along rows.
#include <cmath>

#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// NaN, if there is one: a maximum that forgot it would make a row of numbers of it.
inline float greatest(const float* x, int64_t n) {
    return reduce<float>(
        n, -std::numeric_limits<float>::infinity(), [x](int64_t i) { return x[i]; },
        [](float a, float b) { return a > b || a != a ? a : b; });
}

void softmax(const float* x, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float most = greatest(x, width);
        map(x, result, width, [most](float v) { return exp(v - most); });
        const float* made = result;
        const float scale = 1.f / sum<float>(width, [made](int64_t i) { return made[i]; });
        map(made, result, width, [scale](float v) { return v * scale; });
    }
}

void log_softmax(const float* x, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float most = greatest(x, width);
        const float total = sum<float>(width, [x, most](int64_t i) { return exp(x[i] - most); });
        const float shift = std::log(total);
        map(x, result, width, [most, shift](float v) { return v - most - shift; });
    }
}

void softmax_backward(const float* grad, const float* y, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, grad += width, y += width, result += width) {
        const float total = sum<float>(width, [grad, y](int64_t i) { return grad[i] * y[i]; });
        map2(grad, y, result, width, [total](float g, float v) { return (g - total) * v; });
    }
}

void log_softmax_backward(const float* grad, const float* y, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, grad += width, y += width, result += width) {
        const float total = sum<float>(width, [grad](int64_t i) { return grad[i]; });
        map2(grad, y, result, width, [total](float g, float v) { return g - exp(v) * total; });
    }
}

}  // namespace

extern const SoftmaxTable activation_softmax;
const SoftmaxTable activation_softmax = {softmax, log_softmax, softmax_backward, log_softmax_backward};

}  // namespace
