// Normalization of rows, and the gradients of it.
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// result = (x - m) * scale * weight + bias, of which weight and bias may be null.
MT_FLAT void normalize(const float* x, float m, float scale, const float* weight, const float* bias, float* result,
                       int64_t width) {
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

// The mean of n elements, and 1 / sqrt(their variance + eps).
inline void statistics(const float* x, int64_t n, float eps, float* mean, float* rstd) {
    const float count = static_cast<float>(n);
    const float m = sum<float>(n, [x](int64_t i) { return x[i]; }) / count;
    const float variance = sum<float>(n, [x, m](int64_t i) {
        const float d = x[i] - m;
        return d * d;
    }) / count;
    *mean = m;
    *rstd = 1.f / std::sqrt(variance + eps);
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                float* rstd, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        statistics(x, width, eps, mean + r, rstd + r);
        normalize(x, mean[r], rstd[r], weight, bias, result, width);
    }
}

void layer_norm_backward(const float* grad, const float* x, const float* mean, const float* rstd, const float* weight,
                         float* result, int64_t rows, int64_t width) {
    const float count = static_cast<float>(width);
    for (int64_t r = 0; r < rows; ++r, grad += width, x += width, result += width) {
        const float m = mean[r], scale = rstd[r];
        float level, slope;
        if (weight != nullptr) {
            level = sum<float>(width, [=](int64_t i) { return grad[i] * weight[i]; }) / count;
            slope = sum<float>(width, [=](int64_t i) { return grad[i] * weight[i] * ((x[i] - m) * scale); }) / count;
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i)
                result[i] = (grad[i] * weight[i] - level - (x[i] - m) * scale * slope) * scale;
        } else {
            level = sum<float>(width, [=](int64_t i) { return grad[i]; }) / count;
            slope = sum<float>(width, [=](int64_t i) { return grad[i] * ((x[i] - m) * scale); }) / count;
            MT_VECTORIZE
            for (int64_t i = 0; i < width; ++i) result[i] = (grad[i] - level - (x[i] - m) * scale * slope) * scale;
        }
    }
}

void layer_norm_parameters(const float* grad, const float* x, const float* mean, const float* rstd, float* of_weight,
                           float* of_bias, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, grad += width, x += width) {
        const float m = mean[r], scale = rstd[r];
        MT_VECTORIZE
        for (int64_t i = 0; i < width; ++i) {
            of_weight[i] += grad[i] * ((x[i] - m) * scale);
            of_bias[i] += grad[i];
        }
    }
}

void add_pairwise(float* parts, int64_t count, int64_t width) {
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t i = 0; i + step < count; i += 2 * step) {
            float* to = parts + i * width;
            const float* from = parts + (i + step) * width;
            MT_VECTORIZE
            for (int64_t j = 0; j < width; ++j) to[j] += from[j];
        }
}

void rms_norm(const float* x, const float* weight, float eps, float* result, float* rstd, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float square = sum<float>(width, [x](int64_t i) { return x[i] * x[i]; }) / static_cast<float>(width);
        rstd[r] = 1.f / std::sqrt(square + eps);
        normalize(x, 0.f, rstd[r], weight, nullptr, result, width);
    }
}

void group_norm(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                float* rstd, int64_t channels, int64_t groups, int64_t inner, int64_t begin, int64_t end) {
    const int64_t of_group = channels / groups, width = of_group * inner;
    for (int64_t g = begin; g < end; ++g) {
        statistics(x + g * width, width, eps, mean + g, rstd + g);
        for (int64_t c = 0; c < of_group; ++c) {
            const int64_t channel = g % groups * of_group + c, at = (g * of_group + c) * inner;
            const float scale = weight == nullptr ? rstd[g] : rstd[g] * weight[channel];
            const float shift = bias == nullptr ? 0.f : bias[channel], m = mean[g];
            MT_VECTORIZE
            for (int64_t i = 0; i < inner; ++i) result[at + i] = (x[at + i] - m) * scale + shift;
        }
    }
}

void group_norm_backward(const float* grad, const float* x, const float* mean, const float* rstd, const float* weight,
                         float* result, float* slopes, float* levels, int64_t channels, int64_t groups, int64_t inner,
                         int64_t begin, int64_t end) {
    const int64_t of_group = channels / groups, width = of_group * inner;
    const float count = static_cast<float>(width);
    for (int64_t g = begin; g < end; ++g) {
        const float m = mean[g], scale = rstd[g];
        double slope = 0, level = 0;
        for (int64_t c = 0; c < of_group; ++c) {
            const int64_t at = g * of_group + c;
            const float *from = x + at * inner, *given = grad + at * inner;
            const float w = weight == nullptr ? 1.f : weight[g % groups * of_group + c];
            slopes[at] = sum<float>(inner, [=](int64_t i) { return given[i] * ((from[i] - m) * scale); });
            levels[at] = sum<float>(inner, [=](int64_t i) { return given[i]; });
            slope += static_cast<double>(slopes[at]) * w;
            level += static_cast<double>(levels[at]) * w;
        }
        if (result == nullptr) continue;
        const float along = static_cast<float>(slope) / count, shift = static_cast<float>(level) / count;
        for (int64_t c = 0; c < of_group; ++c) {
            const int64_t at = (g * of_group + c) * inner;
            const float w = weight == nullptr ? 1.f : weight[g % groups * of_group + c];
            MT_VECTORIZE
            for (int64_t i = 0; i < inner; ++i)
                result[at + i] = (grad[at + i] * w - shift - (x[at + i] - m) * scale * along) * scale;
        }
    }
}

}  // namespace

extern const NormTable norm;
const NormTable norm = {
    layer_norm, layer_norm_backward, layer_norm_parameters, add_pairwise, rms_norm, group_norm, group_norm_backward,
};

}  // namespace
