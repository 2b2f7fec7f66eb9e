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
    const float m = sum_arrays(n, [](auto v) { return v; }, x) / count;
    const float variance = sum_arrays(n, [m](auto v) { return (v - m) * (v - m); }, x) / count;
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

// Elements whose sums are kept in single precision, lane by lane.
constexpr int64_t SUMMED = 64 * 2 * WIDTH;

// Sums over n <= SUMMED elements of grad * weight, and of that times the normalized x.
template <bool Weighted>
MT_FLAT void add_sums(const float* grad, const float* x, const float* weight, float m, float scale, int64_t n,
                      double* level, double* slope) {
    float levels[2 * WIDTH], slopes[2 * WIDTH];
    Vector level_of[2] = {}, slope_of[2] = {};
    int64_t i = 0;
    for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
            Vector g = load(grad + i + v * WIDTH);
            if (Weighted) g *= load(weight + i + v * WIDTH);
            level_of[v] += g;
            slope_of[v] += g * ((load(x + i + v * WIDTH) - m) * scale);
        }
    }
    std::memcpy(levels, level_of, sizeof levels);
    std::memcpy(slopes, slope_of, sizeof slopes);
    for (int j = 0; i + j < n; ++j) {
        const float g = Weighted ? grad[i + j] * weight[i + j] : grad[i + j];
        levels[j] += g;
        slopes[j] += g * ((x[i + j] - m) * scale);
    }
    for (int half = WIDTH; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) {
            levels[j] += levels[j + half];
            slopes[j] += slopes[j + half];
        }
    *level += static_cast<double>(levels[0]);
    *slope += static_cast<double>(slopes[0]);
}

template <bool Weighted>
void input_gradients(const float* grad, const float* x, const float* mean, const float* rstd, const float* weight,
                     float* result, int64_t rows, int64_t width) {
    const double count = static_cast<double>(width);
    for (int64_t r = 0; r < rows; ++r, grad += width, x += width, result += width) {
        const float m = mean[r], scale = rstd[r];
        double levels = 0, slopes = 0;
        for (int64_t start = 0; start < width; start += SUMMED)
            add_sums<Weighted>(grad + start, x + start, Weighted ? weight + start : nullptr, m, scale,
                               width - start < SUMMED ? width - start : SUMMED, &levels, &slopes);
        const float level = static_cast<float>(levels / count), slope = static_cast<float>(slopes / count);
        MT_VECTORIZE
        for (int64_t i = 0; i < width; ++i)
            result[i] = ((Weighted ? grad[i] * weight[i] : grad[i]) - level - (x[i] - m) * scale * slope) * scale;
    }
}

void layer_norm_backward(const float* grad, const float* x, const float* mean, const float* rstd, const float* weight,
                         float* result, int64_t rows, int64_t width) {
    (weight != nullptr ? input_gradients<true> : input_gradients<false>)(grad, x, mean, rstd, weight, result, rows,
                                                                         width);
}

// Adds ROWS rows' parts to the sums.
template <int ROWS>
MT_FLAT void add_parameters(const float* grad, const float* x, const float* mean, const float* rstd, float* of_weight,
                            float* of_bias, int64_t width) {
    MT_VECTORIZE
    for (int64_t i = 0; i < width; ++i) {
        float slope = of_weight[i], level = of_bias[i];
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r) {
            const float g = grad[r * width + i];
            slope += g * ((x[r * width + i] - mean[r]) * rstd[r]);
            level += g;
        }
        of_weight[i] = slope;
        of_bias[i] = level;
    }
}

void layer_norm_parameters(const float* grad, const float* x, const float* mean, const float* rstd, float* of_weight,
                           float* of_bias, int64_t rows, int64_t width) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        add_parameters<4>(grad + r * width, x + r * width, mean + r, rstd + r, of_weight, of_bias, width);
    for (; r < rows; ++r)
        add_parameters<1>(grad + r * width, x + r * width, mean + r, rstd + r, of_weight, of_bias, width);
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
        const float square = sum_arrays(width, [](auto v) { return v * v; }, x) / static_cast<float>(width);
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
            slopes[at] = sum_arrays(inner, [m, scale](auto g, auto v) { return g * ((v - m) * scale); }, given, from);
            levels[at] = sum_arrays(inner, [](auto g) { return g; }, given);
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
