// CUDA's extensions of C++ for a CPU compiler: every thread of a block is a fiber (cuda_cpu.cpp). Tests only.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define MT_UNTRACED __attribute__((no_sanitize("thread"), noinline))
#define MT_INFINITY INFINITY

struct mt_dim3 { unsigned x, y, z; };
extern mt_dim3 threadIdx, blockIdx, blockDim, gridDim;
extern char* mt_dynamic_shared;

extern "C" {
void mt_block_barrier(int line);
void mt_warp_barrier(int line);
uint64_t mt_exchange(uint64_t value, unsigned lane, int line);
void mt_mma(float* c, const uint32_t* a, const uint32_t* b, int bfloat, int line);
int mt_run(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned shared, void (*body)(void*), void* arg);
}
#define __syncthreads() mt_block_barrier(__LINE__)
#define __syncwarp() mt_warp_barrier(__LINE__)
#define __threadfence() ((void)0)

template <class T> static inline T mt_shuffle(T x, unsigned lane, int line) {
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof(T));
    bits = mt_exchange(bits, lane, line);
    memcpy(&x, &bits, sizeof(T));
    return x;
}
static inline unsigned mt_lane() { return (threadIdx.x + threadIdx.y * blockDim.x) & 31; }
#define __shfl_xor_sync(mask, x, lanes) mt_shuffle(x, mt_lane() ^ (lanes), __LINE__)
#define __shfl_sync(mask, x, lane) mt_shuffle(x, (lane) & 31, __LINE__)

static inline uint32_t __umulhi(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }
static inline float __uint_as_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint32_t __float_as_uint(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float __int_as_float(int32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline void mt_sincosf(float x, float* s, float* c) { *s = sinf(x); *c = cosf(x); }
#define __logf logf  // fast functions of the device; the C library has others of these names
#define __expf expf
#define __sincosf mt_sincosf
#define __tanf tanf
template <class T> static inline T __ldg(const T* p) { return *p; }

template <class T> MT_UNTRACED static T atomicAdd(T* p, T x) { T old = *p; *p = old + x; return old; }
template <class T> MT_UNTRACED static T atomicCAS(T* p, T expected, T x) { T old = *p; if (old == expected) *p = x; return old; }
MT_UNTRACED static unsigned long long atomicCAS(unsigned long long* p, unsigned long long expected, uint64_t x) {
    unsigned long long old = *p; if (old == expected) *p = x; return old; }

static inline float mt_bfloat_to_float(uint16_t b) { return __uint_as_float((uint32_t)b << 16); }
static inline uint16_t mt_float_to_bfloat(float x) {
    uint32_t u = __float_as_uint(x);
    return x != x ? 0x7fff : (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
static inline float mt_half_to_float(uint16_t h) { _Float16 x; memcpy(&x, &h, 2); return (float)x; }
static inline uint16_t mt_float_to_half(float f) { _Float16 x = (_Float16)f; uint16_t h; memcpy(&h, &x, 2); return h; }

// Takes the arguments from one buffer, laid out as a kernel's parameters are; says where its length does not fit.
struct mt_cursor {
    const char* at; const char* begin;
    template <class T> T take() {
        size_t offset = (at - begin + alignof(T) - 1) / alignof(T) * alignof(T);
        T x; memcpy((void*)&x, begin + offset, sizeof(T)); at = begin + offset + sizeof(T); return x;
    }
};
template <class... A> static void mt_call(void (*f)(A...), const char* buffer) {
    mt_cursor cursor{buffer, buffer};
    std::tuple<A...> arguments{cursor.take<A>()...};
    std::apply(f, arguments);
}
template <class... A> static size_t mt_length(void (*)(A...)) {
    size_t n = 0;
    ((n = (n + alignof(A) - 1) / alignof(A) * alignof(A) + sizeof(A)), ...);
    return n;
}
#define MT_LAUNCHER(NAME, ...) \
    extern "C" int NAME(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned shared, char* buffer, unsigned long length) { \
        auto function = &__VA_ARGS__; \
        if (mt_length(function) != length) return 100; \
        return mt_run(gx, gy, gz, bx, by, shared, [](void* p) { mt_call(&__VA_ARGS__, (const char*)p); }, buffer); }
