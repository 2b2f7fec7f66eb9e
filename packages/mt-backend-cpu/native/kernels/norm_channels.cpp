// Normalization of channels over all else: (outer, channels, inner), of which inner may be 1.
#include <algorithm>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Calls `each(offset of a run of `inner` elements)` for the runs of a channel.
template <class Each>
inline void each_run(const Channels& s, int64_t channel, Each each) {
    for (int64_t o = 0; o < s.outer; ++o) each((o * s.channels + channel) * s.inner);
}

void moments_of_planes(const float* x, const Channels& s, float* mean, float* variance, int64_t begin, int64_t end) {
    const double count = static_cast<double>(s.outer * s.inner);
    for (int64_t c = begin; c < end; ++c) {
        double total = 0, squares = 0;
        each_run(s, c, [&](int64_t at) {
            total += sum_arrays(s.inner, [](auto v) { return v; }, x + at);
        });
        const float m = static_cast<float>(total / count);
        each_run(s, c, [&](int64_t at) {
            squares += sum_arrays(s.inner, [m](auto v) { return (v - m) * (v - m); }, x + at);
        });
        mean[c] = m;
        variance[c] = static_cast<float>(squares / count);
    }
}

void sums_of_rows(const float* x, const float* center, int64_t channels, float* sums, int64_t rows) {
    std::fill(sums, sums + channels, 0.f);
    for (int64_t r = 0; r < rows; ++r, x += channels) {
        if (center == nullptr) {
            MT_VECTORIZE
            for (int64_t c = 0; c < channels; ++c) sums[c] += x[c];
        } else {
            MT_VECTORIZE
            for (int64_t c = 0; c < channels; ++c) {
                const float d = x[c] - center[c];
                sums[c] += d * d;
            }
        }
    }
}

// Runs [begin, end) of outer * channels; of rows (inner is 1), rows.
void affine(const float* x, const float* mean, const float* scale, const float* shift, float* result, const Channels& s,
            int64_t begin, int64_t end) {
    if (s.inner == 1) {
        for (int64_t r = begin; r < end; ++r) {
            const float* from = x + r * s.channels;
            float* to = result + r * s.channels;
            if (shift == nullptr) {
                MT_VECTORIZE
                for (int64_t c = 0; c < s.channels; ++c) to[c] = (from[c] - mean[c]) * scale[c];
            } else {
                MT_VECTORIZE
                for (int64_t c = 0; c < s.channels; ++c) to[c] = (from[c] - mean[c]) * scale[c] + shift[c];
            }
        }
        return;
    }
    for (int64_t run = begin; run < end; ++run) {
        const int64_t c = run % s.channels;
        const float m = mean[c], by = scale[c], plus = shift == nullptr ? 0.f : shift[c];
        const float* from = x + run * s.inner;
        float* to = result + run * s.inner;
        if (shift == nullptr) {
            MT_VECTORIZE
            for (int64_t i = 0; i < s.inner; ++i) to[i] = (from[i] - m) * by;
        } else {
            MT_VECTORIZE
            for (int64_t i = 0; i < s.inner; ++i) to[i] = (from[i] - m) * by + plus;
        }
    }
}

void gradients_of_planes(const float* grad, const float* x, const float* mean, const float* rstd, const Channels& s,
                         float* slopes, float* levels, int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
        const float m = mean[c], scale = rstd[c];
        double slope = 0, level = 0;
        each_run(s, c, [&](int64_t at) {
            slope += sum_arrays(s.inner, [m, scale](auto g, auto v) { return g * ((v - m) * scale); }, grad + at, x + at);
            level += sum_arrays(s.inner, [](auto g) { return g; }, grad + at);
        });
        slopes[c] = static_cast<float>(slope);
        levels[c] = static_cast<float>(level);
    }
}

void gradients_of_rows(const float* grad, const float* x, const float* mean, const float* rstd, int64_t channels,
                       float* slopes, float* levels, int64_t rows) {
    std::fill(slopes, slopes + channels, 0.f);
    std::fill(levels, levels + channels, 0.f);
    for (int64_t r = 0; r < rows; ++r, x += channels, grad += channels) {
        MT_VECTORIZE
        for (int64_t c = 0; c < channels; ++c) {
            slopes[c] += grad[c] * ((x[c] - mean[c]) * rstd[c]);
            levels[c] += grad[c];
        }
    }
}

void input_gradient(const float* grad, const float* x, const float* mean, const float* rstd, const float* scale,
                    const float* slope, const float* level, float* result, const Channels& s, int64_t begin,
                    int64_t end) {
    if (s.inner == 1) {
        for (int64_t r = begin; r < end; ++r) {
            const float *given = grad + r * s.channels, *from = x + r * s.channels;
            float* to = result + r * s.channels;
            MT_VECTORIZE
            for (int64_t c = 0; c < s.channels; ++c)
                to[c] = (given[c] - level[c] - (from[c] - mean[c]) * rstd[c] * slope[c]) * scale[c];
        }
        return;
    }
    for (int64_t run = begin; run < end; ++run) {
        const int64_t c = run % s.channels;
        const float m = mean[c], r = rstd[c], along = slope[c], shift = level[c], by = scale[c];
        const float *given = grad + run * s.inner, *from = x + run * s.inner;
        float* to = result + run * s.inner;
        MT_VECTORIZE
        for (int64_t i = 0; i < s.inner; ++i) to[i] = (given[i] - shift - (from[i] - m) * r * along) * by;
    }
}

}  // namespace

extern const ChannelTable norm_channels;
const ChannelTable norm_channels = {
    moments_of_planes, sums_of_rows, affine, gradients_of_planes, gradients_of_rows, input_gradient,
};

}  // namespace
