// Losses of classes.
#include <cmath>

#include "kernels/math.hpp"
#include "kernels/rows.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void cross_entropy(const float* x, const int64_t* labels, int64_t ignored, float* losses, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width) {
        if (labels[r] == ignored) {
            losses[r] = 0.f;
            continue;
        }
        const float most = greatest(x, width);
        const float total = sum<float>(width, [x, most](int64_t i) { return exp(x[i] - most); });
        losses[r] = std::log(total) - (x[labels[r]] - most);
    }
}

void nll(const float* x, const int64_t* labels, const float* weight, int64_t ignored, float* losses, float* weights,
         int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r) {
        const bool counts = labels[r] != ignored;
        const float w = !counts ? 0.f : (weight == nullptr ? 1.f : weight[labels[r]]);
        // Of an ignored row 0 * inf must not become NaN; of one with a weight of 0 it does.
        losses[r] = counts ? -x[r * width + labels[r]] * w : 0.f;
        weights[r] = w;
    }
}

void nll_backward(const float* grad, int64_t grad_step, const int64_t* labels, const float* weight, int64_t ignored,
                  const float* total, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r) {
        if (labels[r] == ignored) continue;
        const float w = weight == nullptr ? 1.f : weight[labels[r]];
        const float value = -w * grad[r * grad_step];
        result[r * width + labels[r]] = total == nullptr ? value : value / *total;
    }
}

float sum_all(const float* x, int64_t n) {
    return sum_arrays(n, [](auto v) { return v; }, x);
}

}  // namespace

extern const LossTable loss;
const LossTable loss = {cross_entropy, nll, nll_backward, sum_all};

}  // namespace
