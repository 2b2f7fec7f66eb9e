// Limits. Of two equal zeros the element's own sign remains; NaN is the result where the element or a limit is.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

MT_INLINE float at_least(float v, float low) { return (v < low) | (low != low) ? low : v; }

MT_INLINE float at_most(float v, float high) { return (v > high) | (high != high) ? high : v; }

void clamp_min(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float low = numbers[0];
    map(x[0], result, n, [low](float v) { return at_least(v, low); });
}

void clamp_max(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float high = numbers[0];
    map(x[0], result, n, [high](float v) { return at_most(v, high); });
}

void clamp(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float low = numbers[0], high = numbers[1];
    map(x[0], result, n, [low, high](float v) { return at_most(at_least(v, low), high); });
}

}  // namespace

extern const ComparisonTable comparison;
const ComparisonTable comparison = {clamp_min, clamp_max, clamp};

}  // namespace
