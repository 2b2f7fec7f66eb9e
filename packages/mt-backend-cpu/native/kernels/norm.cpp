// Normalization of rows.
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void layer_norm(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                float* rstd, int64_t rows, int64_t width) {
    const float count = static_cast<float>(width);
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float m = sum<float>(width, [x](int64_t i) { return x[i]; }) / count;
        const float variance = sum<float>(width, [x, m](int64_t i) {
            const float d = x[i] - m;
            return d * d;
        }) / count;
        const float scale = 1.f / std::sqrt(variance + eps);
        mean[r] = m;
        rstd[r] = scale;
        if (weight != nullptr && bias != nullptr) {
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i) result[i] = (x[i] - m) * scale * weight[i] + bias[i];
        } else if (weight != nullptr) {
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i) result[i] = (x[i] - m) * scale * weight[i];
        } else if (bias != nullptr) {
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i) result[i] = (x[i] - m) * scale + bias[i];
        } else {
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i) result[i] = (x[i] - m) * scale;
        }
    }
}

}  // namespace

extern const NormTable norm;
const NormTable norm = {layer_norm};

}  // namespace
