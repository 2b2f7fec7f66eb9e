// PyTorch's random numbers, bit for bit: words of the Mersenne Twister (Matsumoto and Nishimura, 1998), and what is
// made of them. Compiled without contraction: where a product and a sum are rounded once, `fused` says so.
#include <cmath>

#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

constexpr int WORDS = 624, SHIFT = 397;

MT_INLINE uint32_t mixed(uint32_t upper, uint32_t lower) {
    const uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
    return (y >> 1) ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}

// The next 624 words. Words that are read were written at least 227 places before, or are not written yet.
void twist(uint32_t* key) {
    MT_VECTORIZE
    for (int i = 0; i < WORDS - SHIFT; ++i) key[i] = key[i + SHIFT] ^ mixed(key[i], key[i + 1]);
    MT_VECTORIZE
    for (int i = WORDS - SHIFT; i < WORDS - 1; ++i) key[i] = key[i + SHIFT - WORDS] ^ mixed(key[i], key[i + 1]);
    key[WORDS - 1] = key[SHIFT - 1] ^ mixed(key[WORDS - 1], key[0]);
}

MT_INLINE uint32_t tempered(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

void words(uint32_t* key, int32_t* used, uint32_t* result, int64_t n) {
    int32_t at = *used;
    for (int64_t done = 0; done < n;) {
        if (at == WORDS) {
            twist(key);
            at = 0;
        }
        const int run = static_cast<int>(n - done < WORDS - at ? n - done : WORDS - at);
        const uint32_t* from = key + at;
        uint32_t* to = result + done;
        MT_VECTORIZE
        for (int i = 0; i < run; ++i) to[i] = tempered(from[i]);
        at += run;
        done += run;
    }
    *used = at;
}

// a * b + c, rounded once; without an instruction for it in double precision, in which the product is exact.
MT_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
#endif
}

MT_INLINE float unit(uint32_t word) {
    return static_cast<float>(static_cast<int32_t>(word & 0xffffffu)) * 5.9604644775390625e-8f;
}

void uniform(const uint32_t* drawn, float low, float high, float* result, int64_t n) {
    if (low == 0.f && high == 1.f) {
        MT_VECTORIZE
        for (int64_t i = 0; i < n; ++i) result[i] = unit(drawn[i]);
        return;
    }
    const float width = high - low;
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
        const float made = fused(unit(drawn[i]), width, low);
        result[i] = made == high ? low : made;
    }
}

MT_INLINE uint64_t mantissa(const uint32_t* drawn, int64_t i) {
    return (static_cast<uint64_t>(drawn[2 * i]) << 32 | drawn[2 * i + 1]) & ((uint64_t{1} << 53) - 1);
}

void uniform_double(const uint32_t* drawn, double low, double high, double* result, int64_t n) {
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) result[i] = static_cast<double>(static_cast<int64_t>(mantissa(drawn, i))) * 0x1p-53;
    if (low == 0. && high == 1.) return;
    const double width = high - low;
    for (int64_t i = 0; i < n; ++i) {
        const double made = std::fma(result[i], width, low);
        result[i] = made == high ? low : made;
    }
}

// Cephes' logf (S. Moshier), of positive normal numbers.
MT_INLINE float logarithm(float x) {
    const int32_t bits = bits_of(x);
    // Between 1/2 and 1, and where that is below the root of 1/2, twice as much.
    const int32_t fraction = (bits & 0x007fffff) | 0x3f000000;
    const int32_t small = fraction < 0x3f3504f3;
    const float exponent = static_cast<float>((bits >> 23) - 126 - small);
    const float r = from_bits(fraction + (small << 23)) - 1.f;
    const float square = r * r;
    float y = fused(7.0376836292e-2f, r, -1.1514610310e-1f);
    y = fused(y, r, 1.1676998740e-1f);
    y = fused(y, r, -1.2420140846e-1f);
    y = fused(y, r, 1.4249322787e-1f);
    y = fused(y, r, -1.6668057665e-1f);
    y = fused(y, r, 2.0000714765e-1f);
    y = fused(y, r, -2.4999993993e-1f);
    y = fused(y, r, 3.3333331174e-1f);
    y = y * r;
    y = fused(y, square, exponent * -2.12194440e-4f);
    y = y - 0.5f * square;
    return fused(exponent, 0.693359375f, r + y);
}

// Cephes' sinf and cosf of x in [0, 2 pi].
MT_INLINE void sine_and_cosine(float x, float* sine, float* cosine) {
    const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
    const float turns = -static_cast<float>(octant);
    x = fused(turns, 0.78515625f, x);
    x = fused(turns, 2.4187564849853515625e-4f, x);
    x = fused(turns, 3.77489497744594108e-8f, x);
    const float square = x * x;
    float c = 2.443315711809948e-5f;
    c = fused(c, square, -1.388731625493765e-3f);
    c = fused(c, square, 4.166664568298827e-2f);
    c = c * square;
    c = fused(c, square, -0.5f * square) + 1.f;
    float s = -1.9515295891e-4f;
    s = fused(s, square, 8.3321608736e-3f);
    s = fused(s, square, -1.6666654611e-1f);
    s = s * square;
    s = fused(s, x, x);
    // Without branches: which of them is which by a mask, and the signs by their bits.
    const int32_t swapped = -((octant >> 1) & 1), changed = (bits_of(c) ^ bits_of(s)) & swapped;
    *sine = from_bits((bits_of(s) ^ changed) ^ ((octant & 4) << 29));
    *cosine = from_bits((bits_of(c) ^ changed) ^ (((octant + 2) & 4) << 29));
}

// Box and Muller's transform of eight and eight of each sixteen numbers, of several sixteens at a time.
void normal(const float* drawn, float mean, float deviation, float* result, int64_t n) {
    constexpr float TWO_PI = 6.283185307179586f;
    constexpr int PAIRS = 64;
    float first[PAIRS] = {}, second[PAIRS] = {}, sines[PAIRS], cosines[PAIRS];
    for (int64_t start = 0; start < n; start += 2 * PAIRS) {
        const int count = static_cast<int>(n - start < 2 * PAIRS ? n - start : 2 * PAIRS) / 16;
        for (int k = 0; k < count; ++k) {
            std::memcpy(first + 8 * k, drawn + start + 16 * k, 8 * sizeof(float));
            std::memcpy(second + 8 * k, drawn + start + 16 * k + 8, 8 * sizeof(float));
        }
        MT_VECTORIZE
        for (int i = 0; i < PAIRS; ++i) {
            const float radius = __builtin_sqrtf(-2.f * logarithm(1.f - first[i]));
            float sine, cosine;
            sine_and_cosine(TWO_PI * second[i], &sine, &cosine);
            sines[i] = fused(radius * sine, deviation, mean);
            cosines[i] = fused(radius * cosine, deviation, mean);
        }
        for (int k = 0; k < count; ++k) {
            std::memcpy(result + start + 16 * k, cosines + 8 * k, 8 * sizeof(float));
            std::memcpy(result + start + 16 * k + 8, sines + 8 * k, 8 * sizeof(float));
        }
    }
}

void below(const uint32_t* drawn, uint64_t limit, float* result, int64_t n) {
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) result[i] = mantissa(drawn, i) < limit ? 1.f : 0.f;
}

void below_bool(const uint32_t* drawn, uint64_t limit, uint8_t* result, int64_t n) {
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) result[i] = mantissa(drawn, i) < limit ? 1 : 0;
}

void remainders(const uint32_t* drawn, int64_t low, uint32_t span, int64_t* result, int64_t n) {
    for (int64_t i = 0; i < n; ++i) result[i] = low + static_cast<int64_t>(drawn[i] % span);
}

}  // namespace

extern const RandomTable random;
const RandomTable random = {words, uniform, uniform_double, normal, below, below_bool, remainders};

}  // namespace
