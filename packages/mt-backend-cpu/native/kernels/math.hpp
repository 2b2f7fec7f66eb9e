// Functions of single precision, branchless, so that loops over them become vector instructions.
//
// Polynomials are minimax fits of our own (tools/fit_native_math.py prints them and their errors). Errors are given in
// units in the last place (ulp) of the exact result.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/loops.hpp"

MT_NAMESPACE {

MT_INLINE float from_bits(int32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

MT_INLINE int32_t bits_of(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// bfloat16, as it is stored, to single precision, and back, to the nearest and to even; a NaN keeps its sign, and stays one.
MT_INLINE float from_brain(uint16_t v) { return from_bits(static_cast<int32_t>(static_cast<uint32_t>(v) << 16)); }

MT_INLINE uint16_t to_brain(float v) {
    const uint32_t bits = static_cast<uint32_t>(bits_of(v));
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>(v != v ? (bits >> 16) | 0x40 : rounded);
}

MT_INLINE float magnitude(float x) { return from_bits(bits_of(x) & 0x7fffffff); }

MT_INLINE float with_sign_of(float magnitude, float sign) {
    return from_bits((bits_of(magnitude) & 0x7fffffff) | (bits_of(sign) & INT32_MIN));
}

// 2^k for k in [-126, 127].
MT_INLINE float power_of_two(int32_t k) { return from_bits((k + 127) << 23); }

// ln 2 in two parts, the first short enough for its products with whole numbers below 2^15 to be exact.
constexpr float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;

#include "kernels/math_polynomials.inc"

// e^x: below 1.5 ulp, subnormal results included; infinite beyond 88.7228, 0 below -103.98.
MT_INLINE float exp(float x) {
    const float held = x < -104.f ? -104.f : (x > 89.f ? 89.f : x);
    const float whole = __builtin_rintf(held * 1.44269504088896341f);
    float r = held - whole * LN2_HIGH;
    r = r - whole * LN2_LOW;
    float p = EXP[0];
    for (int i = 1; i < EXP_TERMS; ++i) p = p * r + EXP[i];
    p = p * (r * r) + r + 1.f;
    // In two steps, for neither 2^128 nor 2^-150 is a number.
    const int32_t k = static_cast<int32_t>(whole), half = k >> 1;
    return p * power_of_two(half) * power_of_two(k - half);
}

// tanh x: below 2 ulp.
MT_INLINE float tanh(float x) {
    const float a = magnitude(x);
    const float square = x * x;
    float p = TANH[0];
    for (int i = 1; i < TANH_TERMS; ++i) p = p * square + TANH[i];
    const float near = p * square * x + x;
    const float far = 1.f - 2.f / (exp(a + a) + 1.f);
    const float found = with_sign_of(a < TANH_NEAR ? near : far, x);
    return x != x ? x : found;
}

// 1 / (1 + e^-x): below 2.5 ulp.
MT_INLINE float sigmoid(float x) { return 1.f / (1.f + exp(-x)); }

// erf x: below 2 ulp.
MT_INLINE float erf(float x) {
    const float a = magnitude(x), square = x * x;
    float p = ERF[0];
    for (int i = 1; i < ERF_TERMS; ++i) p = p * square + ERF[i];
    const float held = a > 4.f ? 4.f : a;
    float q = ERFC[0];
    for (int i = 1; i < ERFC_TERMS; ++i) q = q * held + ERFC[i];
    const float found = a < 1.f ? p * x + x : with_sign_of(1.f - exp(q), x);
    return x != x ? x : found;
}

// e^(-x^2 / 2) / sqrt(2 pi).
MT_INLINE float normal_density(float x) { return 0.39894228040143267794f * exp(-0.5f * x * x); }

}  // namespace
