// Between single precision and the half types, rounding to the nearest and to even.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

MT_NAMESPACE {
namespace {

void from_bfloat16(const uint16_t* x, float* result, int64_t n) {
    map(x, result, n, [](uint16_t v) { return from_brain(v); });
}

void to_bfloat16(const float* x, uint16_t* result, int64_t n) {
    map(x, result, n, [](float v) { return to_brain(v); });
}

#if defined(__F16C__)

// By the processor's instructions, several at a time, the last of them filled up with zeros.
constexpr int TOGETHER = WIDTH < 8 ? 8 : WIDTH;

MT_INLINE void widen(const uint16_t* x, float* result) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(result, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
#else
    _mm256_storeu_ps(result, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#endif
}

MT_INLINE void narrow(const float* x, uint16_t* result) {
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(result),
                        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
    _mm_storeu_si128(reinterpret_cast<__m128i*>(result),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
#endif
}

template <class From, class To, class F>
MT_INLINE void convert(const From* x, To* result, int64_t n, F f) {
    int64_t i = 0;
    for (; i + TOGETHER <= n; i += TOGETHER) f(x + i, result + i);
    if (i == n) return;
    From rest[TOGETHER] = {};
    To made[TOGETHER];
    std::memcpy(rest, x + i, sizeof(From) * static_cast<size_t>(n - i));
    f(rest, made);
    std::memcpy(result + i, made, sizeof(To) * static_cast<size_t>(n - i));
}

void from_float16(const uint16_t* x, float* result, int64_t n) {
    convert(x, result, n, [](const uint16_t* from, float* to) { widen(from, to); });
}

void to_float16(const float* x, uint16_t* result, int64_t n) {
    convert(x, result, n, [](const float* from, uint16_t* to) { narrow(from, to); });
}

#else

void from_float16(const uint16_t* x, float* result, int64_t n) {
    map(x, result, n, [](uint16_t v) {
        const uint32_t sign = static_cast<uint32_t>(v & 0x8000) << 16, rest = v & 0x7fff;
        const float normal = from_bits(static_cast<int32_t>((rest << 13) + ((127 - 15) << 23)));
        const float special = from_bits(static_cast<int32_t>((rest << 13) | 0x7f800000));
        // Subnormal halves are multiples of 2^-24, which single precision holds exactly.
        const float small = static_cast<float>(static_cast<int32_t>(rest)) * 5.9604644775390625e-8f;
        const float found = rest >= 0x7c00 ? special : (rest < 0x400 ? small : normal);
        return from_bits(static_cast<int32_t>(static_cast<uint32_t>(bits_of(found)) | sign));
    });
}

void to_float16(const float* x, uint16_t* result, int64_t n) {
    map(x, result, n, [](float v) {
        const uint32_t bits = static_cast<uint32_t>(bits_of(v)), sign = (bits >> 16) & 0x8000, rest = bits & 0x7fffffff;
        const uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfff + ((rest >> 13) & 1)) >> 13;
        // Adding 1/2 puts the multiples of 2^-24 into the last bits, rounded by the addition itself.
        const uint32_t small = static_cast<uint32_t>(bits_of(from_bits(static_cast<int32_t>(rest)) + 0.5f)) - 0x3f000000u;
        const uint32_t nan = 0x7e00 | ((rest >> 13) & 0x3ff);
        const uint32_t held = rest >= 0x47800000u ? 0x7c00u : normal;
        const uint32_t found = rest > 0x7f800000u ? nan : (rest < 0x38800000u ? small : held);
        return static_cast<uint16_t>(found | sign);
    });
}

#endif

}  // namespace

extern const HalfTable half;
const HalfTable half = {from_bfloat16, to_bfloat16, from_float16, to_float16};

}  // namespace
