// Limits, and choices by a condition. Of two equal zeros the element's own sign remains; NaN is the result where the element or a limit is.
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

template <class T>
MT_FLAT void chosen(const uint8_t* condition, const T* a, int64_t a_step, const T* b, int64_t b_step, T* result,
                    int64_t n) {
    if (a_step && b_step) {
        MT_VECTORIZE
        for (int64_t i = 0; i < n; ++i) result[i] = condition[i] ? a[i] : b[i];
    } else if (a_step) {
        const T other = *b;
        MT_VECTORIZE
        for (int64_t i = 0; i < n; ++i) result[i] = condition[i] ? a[i] : other;
    } else {
        const T one = *a;
        MT_VECTORIZE
        for (int64_t i = 0; i < n; ++i) result[i] = condition[i] ? one : b[i * b_step];
    }
}

template <class T>
void select(const uint8_t* condition, const void* a, int64_t a_step, const void* b, int64_t b_step, void* result,
            int64_t n) {
    chosen(condition, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step, static_cast<T*>(result), n);
}

}  // namespace

extern const ComparisonTable comparison;
const ComparisonTable comparison = {
    clamp_min, clamp_max, clamp, {select<uint8_t>, select<uint16_t>, select<uint32_t>, select<uint64_t>}};

}  // namespace
