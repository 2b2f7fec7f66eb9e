// What every kernel file starts with: types, casts, packs of elements, layouts, sums over warps and blocks.
//
// The same text is compiled by NVRTC for a GPU and, with MT_CPU defined, by a C++ compiler for tests, where
// tests/cuda_cpu.h stands for the language's extensions. It includes no header of the toolkit.
#ifdef MT_CPU
#include "cuda_cpu.h"
#define MT_SHARED_BYTES(name) char* name = mt_dynamic_shared
#else
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
#define MT_SHARED_BYTES(name) extern __shared__ __align__(16) char name[]
#define MT_INFINITY __int_as_float(0x7f800000)
#endif
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define DEVICE __device__ __forceinline__
#define FULL_WARP 0xffffffffu

// ---- element types ------------------------------------------------------------------------------------------------

#ifdef MT_CPU
DEVICE uint16_t float_to_half_bits(float x) { return mt_float_to_half(x); }
DEVICE float half_bits_to_float(uint16_t b) { return mt_half_to_float(b); }
DEVICE uint16_t float_to_bfloat_bits(float x) { return mt_float_to_bfloat(x); }
#else
DEVICE uint16_t float_to_half_bits(float x) { uint16_t r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE float half_bits_to_float(uint16_t b) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(b)); return r; }
DEVICE uint16_t float_to_bfloat_bits(float x) {
#if __CUDA_ARCH__ >= 800
    uint16_t r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
#else
    u32 u = __float_as_uint(x);
    return x != x ? 0x7fff : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
#endif
}
#endif

struct f16 { uint16_t bits; };
struct bf16 { uint16_t bits; };

DEVICE float to_float(f16 x) { return half_bits_to_float(x.bits); }
#ifdef MT_CPU
DEVICE float to_float(bf16 x) { return mt_bfloat_to_float(x.bits); }
#else
DEVICE float to_float(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
#endif

// cast<To>(x): the conversion of PyTorch. Halves go through float; a floating number becomes uint8 through int64.
template <class To, class From> struct Cast { static DEVICE To of(From x) { return (To)x; } };
template <class T> struct Cast<T, T> { static DEVICE T of(T x) { return x; } };
template <class To> struct Cast<To, f16> { static DEVICE To of(f16 x) { return Cast<To, float>::of(to_float(x)); } };
template <class To> struct Cast<To, bf16> { static DEVICE To of(bf16 x) { return Cast<To, float>::of(to_float(x)); } };
template <class From> struct Cast<f16, From> { static DEVICE f16 of(From x) { return {float_to_half_bits((float)x)}; } };
template <class From> struct Cast<bf16, From> { static DEVICE bf16 of(From x) { return {float_to_bfloat_bits((float)x)}; } };
template <> struct Cast<f16, f16> { static DEVICE f16 of(f16 x) { return x; } };
template <> struct Cast<bf16, bf16> { static DEVICE bf16 of(bf16 x) { return x; } };
template <> struct Cast<bf16, f16> { static DEVICE bf16 of(f16 x) { return {float_to_bfloat_bits(to_float(x))}; } };
template <> struct Cast<f16, bf16> { static DEVICE f16 of(bf16 x) { return {float_to_half_bits(to_float(x))}; } };
template <class From> struct Cast<bool, From> { static DEVICE bool of(From x) { return x != (From)0; } };
template <> struct Cast<bool, bool> { static DEVICE bool of(bool x) { return x; } };
template <> struct Cast<bool, f16> { static DEVICE bool of(f16 x) { return (x.bits & 0x7fff) != 0; } };
template <> struct Cast<bool, bf16> { static DEVICE bool of(bf16 x) { return (x.bits & 0x7fff) != 0; } };
template <> struct Cast<uint8_t, float> { static DEVICE uint8_t of(float x) { return (uint8_t)(i64)x; } };
template <> struct Cast<uint8_t, double> { static DEVICE uint8_t of(double x) { return (uint8_t)(i64)x; } };
template <class To, class From> DEVICE To cast(From x) { return Cast<To, From>::of(x); }

// Compute<T>: what arithmetic on T is done in.
template <class T> struct ComputeOf { typedef T type; };
template <> struct ComputeOf<f16> { typedef float type; };
template <> struct ComputeOf<bf16> { typedef float type; };
template <class T> using Compute = typename ComputeOf<T>::type;
// Sum<T>: what sums of T are kept in.
template <class T> struct SumOf { typedef i64 type; };
template <> struct SumOf<f16> { typedef float type; };
template <> struct SumOf<bf16> { typedef float type; };
template <> struct SumOf<float> { typedef float type; };
template <> struct SumOf<double> { typedef double type; };
template <class T> using Sum = typename SumOf<T>::type;

template <class T> struct IsFloating { static constexpr bool value = false; };
template <> struct IsFloating<f16> { static constexpr bool value = true; };
template <> struct IsFloating<bf16> { static constexpr bool value = true; };
template <> struct IsFloating<float> { static constexpr bool value = true; };
template <> struct IsFloating<double> { static constexpr bool value = true; };

// ---- packs: several elements in one access ---------------------------------------------------------------------------

template <class T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };
template <int N, class T> DEVICE Pack<T, N> load_pack(const T* p) { return *(const Pack<T, N>*)p; }
template <int N, class T> DEVICE void store_pack(T* p, const Pack<T, N>& x) { *(Pack<T, N>*)p = x; }

// ---- layouts ---------------------------------------------------------------------------------------------------------

#define MAX_DIMS 12
// A division of numbers below 2^31 by a constant as multiplication and shift (Granlund and Montgomery, 1994).
struct Divisor { u32 value, factor, shift, unused; };
DEVICE u32 quotient(u32 n, const Divisor& d) { return (__umulhi(n, d.factor) + n) >> d.shift; }

// Sizes of dimensions, innermost first, with the strides of N operands in elements.
template <int N> struct Layout { i64 dims; Divisor size[MAX_DIMS]; i64 stride[N][MAX_DIMS]; };

template <int N> DEVICE void offsets(const Layout<N>& layout, u32 index, i64 (&offset)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) offset[k] = 0;
    for (int d = 0; d < layout.dims; d++) {
        u32 rest = quotient(index, layout.size[d]);
        u32 at = index - rest * layout.size[d].value;
#pragma unroll
        for (int k = 0; k < N; k++) offset[k] += at * layout.stride[k][d];
        index = rest;
    }
}
DEVICE i64 offset_of(const Layout<1>& layout, u32 index) {
    i64 offset[1];
    offsets(layout, index, offset);
    return offset[0];
}

// ---- over warps and blocks ---------------------------------------------------------------------------------------------

struct Add { template <class T> static DEVICE T of(T a, T b) { return a + b; } };
struct Max { template <class T> static DEVICE T of(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; } };
struct Min { template <class T> static DEVICE T of(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; } };
struct Mul { template <class T> static DEVICE T of(T a, T b) { return a * b; } };

template <class T> DEVICE T shuffle_xor(T x, int lanes) { return __shfl_xor_sync(FULL_WARP, x, lanes); }
template <class Op, class T> DEVICE T over_warp(T x) {
#pragma unroll
    for (int lanes = 16; lanes; lanes >>= 1) x = Op::of(x, shuffle_xor(x, lanes));
    return x;
}
// The value of all threads of a block of whole warps, the same for every thread; `parts` holds 32 elements.
template <class Op, class T> DEVICE T over_block(T x, T* parts) {
    x = over_warp<Op>(x);
    int warps = blockDim.x >> 5;
    if (warps == 1) return x;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = x;
    __syncthreads();
    T y = parts[0];
    for (int w = 1; w < warps; w++) y = Op::of(y, parts[w]);
    return y;
}

// ---- faults: an index outside its bounds -----------------------------------------------------------------------------

// The first fault of a device is kept in two words, which the host reads when it synchronizes: the operator's number
// and the index. No launch waits for that.
struct Faults { u64* words; u64 site; };
DEVICE bool in_bounds(i64 index, i64 count, const Faults& faults) {
    if (index >= 0 && index < count) return true;
    if (atomicCAS(&faults.words[0], 0ull, faults.site) == 0) faults.words[1] = (u64)index;
    return false;
}
// An index that counts from the end where it is negative.
DEVICE bool wrap(i64& index, i64 count, const Faults& faults) {
    i64 given = index;
    if (index < 0) index += count;
    if (index >= 0 && index < count) return true;
    in_bounds(given < 0 ? given : index, given < 0 ? 0 : count, faults);
    return false;
}
