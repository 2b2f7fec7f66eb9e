// Random numbers by Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011), with the streams that PyTorch draws on a GPU.
//
// A thread's subsequence is its number in the grid, its counter starts at a quarter of the generator's offset and grows by
// one for every four words. Word i of draw j of thread t fills element t + threads * (i + words * j), for floats; doubles
// take two words each. The host's plan (own/random.py) makes the grid that PyTorch would make.

struct Words { u32 v[4]; };
DEVICE Words philox(u64 key, u64 counter, u64 subsequence) {
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    Words c = {{(u32)counter, (u32)(counter >> 32), (u32)subsequence, (u32)(subsequence >> 32)}};
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 a = (u64)0xD2511F53u * c.v[0], b = (u64)0xCD9E8D57u * c.v[2];
        c = {{(u32)(b >> 32) ^ c.v[1] ^ k0, (u32)b, (u32)(a >> 32) ^ c.v[3] ^ k1, (u32)a}};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}
// counters: (rows, 4) words, keys: (rows, 2); out: (rows, 4). For the known-answer vectors of Random123.
__global__ void philox_words(i64 rows, const u32* counters, const u32* keys, u32* out) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const u32* c = counters + 4 * i;
    Words w = philox((u64)keys[2 * i + 1] << 32 | keys[2 * i], (u64)c[1] << 32 | c[0], (u64)c[3] << 32 | c[2]);
    for (int k = 0; k < 4; k++) out[4 * i + k] = w.v[k];
}

// Uniform numbers above 0, up to and with 1.
DEVICE float unit(u32 x) { return x * 2.3283064365386963e-10f + 1.1641532182693481e-10f; }
DEVICE double unit(u32 x, u32 y) {
    u64 z = (u64)x ^ ((u64)y << 21);
    return z * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
// Two normal numbers of two uniform ones (Box and Muller, 1958).
DEVICE void normals(u32 x, u32 y, float* out) {
    float u = unit(x), v = y * (2.3283064365386963e-10f * 6.2831855f) + (2.3283064365386963e-10f * 6.2831855f / 2.0f);
    float s = sqrtf(-2.0f * logf(u)), sine, cosine;
    __sincosf(v, &sine, &cosine);
    out[0] = sine * s;
    out[1] = cosine * s;
}
DEVICE void normals(u32 x0, u32 x1, u32 y0, u32 y1, double* out) {
    double u = unit(x0, x1), s = sqrt(-2.0 * log(u)), sine, cosine;
    double v = (double)((u64)y0 ^ ((u64)y1 << 21)) * (1.1102230246251565e-16 * 2.0) + 1.1102230246251565e-16;
#ifdef MT_CPU
    sine = sin(v * 3.14159265358979323846);
    cosine = cos(v * 3.14159265358979323846);
#else
    sincospi(v, &sine, &cosine);
#endif
    out[0] = sine * s;
    out[1] = cosine * s;
}

// A source makes COUNT numbers of four words.
template <class C> struct Uniform;
template <> struct Uniform<float> {
    typedef float Number;
    static constexpr int COUNT = 4;
    static DEVICE void of(const Words& w, float* out) { for (int i = 0; i < 4; i++) out[i] = unit(w.v[i]); }
};
template <> struct Uniform<double> {
    typedef double Number;
    static constexpr int COUNT = 2;
    static DEVICE void of(const Words& w, double* out) { out[0] = unit(w.v[0], w.v[1]); out[1] = unit(w.v[2], w.v[3]); }
};
template <class C> struct Normal;
template <> struct Normal<float> {
    typedef float Number;
    static constexpr int COUNT = 4;
    static DEVICE void of(const Words& w, float* out) { normals(w.v[0], w.v[1], out); normals(w.v[2], w.v[3], out + 2); }
};
template <> struct Normal<double> {
    typedef double Number;
    static constexpr int COUNT = 2;
    static DEVICE void of(const Words& w, double* out) { normals(w.v[0], w.v[1], w.v[2], w.v[3], out); }
};
template <class C> struct Word {
    typedef u32 Number;
    static constexpr int COUNT = 4;
    static DEVICE void of(const Words& w, u32* out) { for (int i = 0; i < 4; i++) out[i] = w.v[i]; }
};
template <class C> struct DoubleWord {
    typedef u64 Number;
    static constexpr int COUNT = 2;
    static DEVICE void of(const Words& w, u64* out) {
        out[0] = (u64)w.v[0] << 32 | w.v[1];
        out[1] = (u64)w.v[2] << 32 | w.v[3];
    }
};

// A distribution makes an element of T of a number of its source; C is the compute type, n the numbers of the call.
struct uniform {
    template <class C> using Source = Uniform<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) {
        T value = cast<T>(fma(x, (C)(n[1] - n[0]), (C)n[0]));
        return cast<C>(value) == cast<C>(cast<T>(n[1])) ? cast<T>(n[0]) : value;
    }
};
struct normal {
    template <class C> using Source = Normal<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) { return cast<T>(fma(x, (C)n[1], (C)n[0])); }
};
// PyTorch takes the device's fast functions for floats here.
DEVICE float log_of(float x) { return __logf(x); }
DEVICE double log_of(double x) { return log(x); }
DEVICE float exp_of(float x) { return __expf(x); }
DEVICE double exp_of(double x) { return exp(x); }
DEVICE float tan_of(float x) { return __tanf(x); }
DEVICE double tan_of(double x) { return tan(x); }
DEVICE float half_epsilon(float) { return 5.9604645e-08f; }
DEVICE double half_epsilon(double) { return 1.1102230246251565e-16; }
struct log_normal {
    template <class C> using Source = Normal<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) { return cast<T>(exp_of(fma(x, (C)n[1], (C)n[0]))); }
};
struct exponential {
    template <class C> using Source = Uniform<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) {
        C logarithm = x >= (C)1 - half_epsilon(x) ? -half_epsilon(x) : log_of(x);
        return cast<T>((C)-1 / (C)n[0] * logarithm);
    }
};
struct cauchy {
    template <class C> using Source = Uniform<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) {
        C low = (C)2 * half_epsilon(x);
        x = x > (C)1 - low ? (C)1 - low : x < low ? low : x;
        return cast<T>((C)n[0] + (C)n[1] * tan_of((C)3.14159265358979323846 * (x - (C)0.5)));
    }
};
struct geometric {
    template <class C> using Source = Uniform<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) { return cast<T>(ceil(log_of(x) / log_of((C)1 - (C)n[0]))); }
};
struct bernoulli {
    template <class C> using Source = Uniform<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) { return cast<T>(x < (C)n[0]); }
};
// Integers: base + word % range; range and base are the bits of 64-bit integers.
template <template <class> class Of> struct from_to {
    template <class C> using Source = Of<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) {
        const u64* bits = (const u64*)n;
        return cast<T>((i64)(x % (C)bits[0]) + (i64)bits[1]);
    }
};
typedef from_to<Word> integers;
typedef from_to<DoubleWord> long_integers;
template <template <class> class Of> struct bits_of {
    template <class C> using Source = Of<C>;
    template <class T, class C> static DEVICE T of(C x, const double* n) { return cast<T>((i64)(x & (C)((const u64*)n)[0])); }
};
typedef bits_of<Word> masked_bits;
typedef bits_of<DoubleWord> long_masked_bits;

// `device_words`: what is added to the offset, and the seed in place of `seed`, of a graph that is replayed.
struct Stream { u64 seed, offset; const i64* device_words; };
DEVICE u64 seed_of(const Stream& s) { return s.device_words ? (u64)s.device_words[1] : s.seed; }
DEVICE u64 counter_of(const Stream& s) { return (s.offset + (s.device_words ? (u64)s.device_words[0] : 0)) / 4; }
struct Parameters { double v[2]; };

template <class Distribution, class T, class C>
__global__ void draw(i64 count, Stream stream, Parameters parameters, T* out) {
    typedef typename Distribution::template Source<C> Source;
    i64 threads = (i64)gridDim.x * blockDim.x, thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 counter = counter_of(stream), seed = seed_of(stream);
    for (i64 first = thread; first < count; first += threads * Source::COUNT, counter++) {
        typename Source::Number x[Source::COUNT];
        Source::of(philox(seed, counter, thread), x);
#pragma unroll
        for (int i = 0; i < Source::COUNT; i++)
            if (first + i * threads < count) out[first + i * threads] = Distribution::template of<T>(x[i], parameters.v);
    }
}

// Dropout with its mask. V elements side by side take the numbers of one draw; with V = 1 they lie as in `draw`.
template <class T, int V>
__global__ void dropout(i64 count, Stream stream, double keep, const T* in, T* out, bool* mask) {
    typedef Compute<T> C;
    i64 threads = (i64)gridDim.x * blockDim.x, thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 counter = counter_of(stream), seed = seed_of(stream);
    C p = (C)keep, scale = (C)1 / p;
    if constexpr (V == 1) {
        for (i64 first = thread; first < count; first += threads * 4, counter++) {
            Words w = philox(seed, counter, thread);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                i64 at = first + i * threads;
                if (at >= count) break;
                bool kept = unit(w.v[i]) < p;
                out[at] = cast<T>(cast<C>(in[at]) * (C)kept * scale);
                mask[at] = kept;
            }
        }
    } else {
        float kept_units[4];
        for (i64 first = thread * V; first < count; first += threads * V) {
            Pack<T, V> x = load_pack<V>(in + first), y;
            Pack<bool, V> m;
#pragma unroll
            for (int i = 0; i < V; i++) {
                int k = i % 4;
                if (k == 0) {
                    Words w = philox(seed, counter++, thread);
#pragma unroll
                    for (int j = 0; j < 4; j++) kept_units[j] = unit(w.v[j]);
                }
                m.v[i] = kept_units[k] < p;
                y.v[i] = cast<T>(cast<C>(x.v[i]) * (C)m.v[i] * scale);
            }
            store_pack(out + first, y);
            store_pack(mask + first, m);
        }
    }
}
