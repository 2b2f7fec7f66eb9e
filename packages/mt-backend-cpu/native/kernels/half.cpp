// Between single precision and the half types, rounding to the nearest and to even.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void from_bfloat16(const uint16_t* x, float* result, int64_t n) {
    map(x, result, n, [](uint16_t v) { return from_brain(v); });
}

void to_bfloat16(const float* x, uint16_t* result, int64_t n) {
    map(x, result, n, [](float v) { return to_brain(v); });
}

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

}  // namespace

extern const HalfTable half;
const HalfTable half = {from_bfloat16, to_bfloat16, from_float16, to_float16};

}  // namespace
