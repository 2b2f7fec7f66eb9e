// Reductions over any dimensions: sums, products, extremes with and without their place, tests, moments.
//
// An operator has a state S that it begins with, adds elements to, joins with another, and a result that it ends with.
// Sums are kept in float for halves and in int64 for integers.

struct sum {
    template <class T> struct Of {
        typedef Sum<T> S;
        static DEVICE S begin() { return (S)0; }
        static DEVICE void take(S& s, T x, i64) { s += cast<S>(x); }
        static DEVICE S join(S a, S b) { return a + b; }
        template <class Out> static DEVICE Out end(S s, i64, double) { return cast<Out>(s); }
    };
};
struct mean {
    template <class T> struct Of : sum::Of<T> {
        typedef Sum<T> S;
        template <class Out> static DEVICE Out end(S s, i64 count, double) { return cast<Out>(s / (S)count); }
    };
};
struct prod {
    template <class T> struct Of {
        typedef Sum<T> S;
        static DEVICE S begin() { return (S)1; }
        static DEVICE void take(S& s, T x, i64) { s *= cast<S>(x); }
        static DEVICE S join(S a, S b) { return a * b; }
        template <class Out> static DEVICE Out end(S s, i64, double) { return cast<Out>(s); }
    };
};
template <bool ALL> struct tests {
    template <class T> struct Of {
        typedef int S;
        static DEVICE S begin() { return ALL; }
        static DEVICE void take(S& s, T x, i64) { s = ALL ? s & cast<bool>(x) : s | cast<bool>(x); }
        static DEVICE S join(S a, S b) { return ALL ? a & b : a | b; }
        template <class Out> static DEVICE Out end(S s, i64, double) { return cast<Out>(s); }
    };
};
typedef tests<true> all_of;
typedef tests<false> any_of;
// The square root of the sum of squares, and the sum of magnitudes.
struct norm_two {
    template <class T> struct Of : sum::Of<T> {
        typedef Sum<T> S;
        static DEVICE void take(S& s, T x, i64) { S v = cast<S>(x); s += v * v; }
        template <class Out> static DEVICE Out end(S s, i64, double) { return cast<Out>(sqrt(s)); }
    };
};
struct norm_one {
    template <class T> struct Of : sum::Of<T> {
        typedef Sum<T> S;
        static DEVICE void take(S& s, T x, i64) { S v = cast<S>(x); s += v < (S)0 ? -v : v; }
    };
};

// The largest or smallest element and the least index of it; NaN counts as more than everything.
template <class C> struct Best { C value; i64 at; };
template <bool LARGEST, class C> DEVICE bool better(const Best<C>& a, const Best<C>& b) {
    if (b.at < 0) return true;
    if (a.at < 0) return false;
    bool na = a.value != a.value, nb = b.value != b.value;
    if (na || nb) return na && (!nb || a.at < b.at);
    if (a.value == b.value) return a.at < b.at;
    return LARGEST ? a.value > b.value : a.value < b.value;
}
template <bool LARGEST> struct extremes {
    template <class T> struct Of {
        typedef Best<Compute<T>> S;
        static DEVICE S begin() { return {(Compute<T>)0, -1}; }
        static DEVICE S join(const S& a, const S& b) { return better<LARGEST>(a, b) ? a : b; }
        static DEVICE void take(S& s, T x, i64 at) { s = join(s, {cast<Compute<T>>(x), at}); }
    };
};
template <bool LARGEST> struct value_of {
    template <class T> struct Of : extremes<LARGEST>::template Of<T> {
        template <class Out> static DEVICE Out end(const Best<Compute<T>>& s, i64, double) { return cast<Out>(s.value); }
    };
};
template <bool LARGEST> struct place_of {
    template <class T> struct Of : extremes<LARGEST>::template Of<T> {
        template <class Out> static DEVICE Out end(const Best<Compute<T>>& s, i64, double) { return cast<Out>(s.at); }
    };
};
typedef value_of<true> amax;
typedef value_of<false> amin;
typedef place_of<true> argmax;
typedef place_of<false> argmin;

// Count, mean and sum of squared deviations, joined as Chan, Golub and LeVeque (1983) do.
template <class C> struct Moments { C mean, deviations, count; };
struct variance {
    template <class T> struct Of {
        typedef Sum<T> C;
        typedef Moments<C> S;
        static DEVICE S begin() { return {(C)0, (C)0, (C)0}; }
        static DEVICE void take(S& s, T x, i64) {
            s.count += (C)1;
            C delta = cast<C>(x) - s.mean;
            s.mean += delta / s.count;
            s.deviations += delta * (cast<C>(x) - s.mean);
        }
        static DEVICE S join(const S& a, const S& b) {
            if (a.count == (C)0) return b;
            if (b.count == (C)0) return a;
            C count = a.count + b.count, delta = b.mean - a.mean;
            return {a.mean + delta * (b.count / count), a.deviations + b.deviations + delta * delta * (a.count * b.count / count), count};
        }
        template <class Out> static DEVICE Out end(const S& s, i64 count, double correction) {
            double free = (double)count - correction;
            return cast<Out>(s.deviations / (C)(free > 0 ? free : 0));
        }
    };
};
struct deviation {
    template <class T> struct Of : variance::Of<T> {
        template <class Out> static DEVICE Out end(const Moments<Sum<T>>& s, i64 count, double correction) {
            return cast<Out>(sqrt(variance::Of<T>::template end<Sum<T>>(s, count, correction)));
        }
    };
};

template <class T> DEVICE T state_xor(const T& x, int lanes) { return shuffle_xor(x, lanes); }
template <class C> DEVICE Best<C> state_xor(const Best<C>& x, int lanes) { return {shuffle_xor(x.value, lanes), shuffle_xor(x.at, lanes)}; }
template <class C> DEVICE Moments<C> state_xor(const Moments<C>& x, int lanes) {
    return {shuffle_xor(x.mean, lanes), shuffle_xor(x.deviations, lanes), shuffle_xor(x.count, lanes)};
}
template <class R, class S> DEVICE S join_block(S s, S* parts) {
#pragma unroll
    for (int lanes = 16; lanes; lanes >>= 1) s = R::join(s, state_xor(s, lanes));
    int warps = blockDim.x >> 5;
    if (warps == 1) return s;
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = s;
    __syncthreads();
    s = parts[0];
    for (int w = 1; w < warps; w++) s = R::join(s, parts[w]);
    return s;
}

// A block makes one part of one output: blockIdx.x is the output, blockIdx.y the part. Where the elements of an output
// lie one after another (`packed`), they are read V at a time.
template <class Op, class T, class Out, int V>
__global__ void reduce(Layout<2> kept, Layout<1> reduced, i64 count, i64 packed, i64 parts, double correction, const T* in, Out* out,
                       typename Op::template Of<T>::S* partial) {
    typedef typename Op::template Of<T> R;
    typedef typename R::S S;
    __shared__ __align__(16) char room[32 * sizeof(S)];
    i64 at[2];
    offsets(kept, blockIdx.x, at);
    in += at[1];
    i64 share = ((count + parts - 1) / parts + V - 1) / V * V, first = blockIdx.y * share;
    i64 last = first + share < count ? first + share : count;
    S s = R::begin();
    if (packed) {
        i64 i = first + (i64)threadIdx.x * V, step = (i64)blockDim.x * V;
        for (; i + V <= last; i += step) {
            Pack<T, V> p = load_pack<V>(in + i);
#pragma unroll
            for (int k = 0; k < V; k++) R::take(s, p.v[k], i + k);
        }
        for (; i < last; i++) R::take(s, in[i], i);
    } else {
        for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) R::take(s, in[offset_of(reduced, (u32)i)], i);
    }
    s = join_block<R>(s, (S*)room);
    if (threadIdx.x) return;
    if (parts == 1) out[at[0]] = R::template end<Out>(s, count, correction);
    else partial[blockIdx.x * parts + blockIdx.y] = s;
}
// Joins the parts of each output: a warp for each.
template <class Op, class T, class Out>
__global__ void join_parts(Layout<2> kept, i64 outputs, i64 count, i64 parts, double correction, Out* out, const typename Op::template Of<T>::S* partial) {
    typedef typename Op::template Of<T> R;
    i64 output = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (output >= outputs) return;
    typename R::S s = R::begin();
    for (i64 p = threadIdx.x & 31; p < parts; p += 32) s = R::join(s, partial[output * parts + p]);
#pragma unroll
    for (int lanes = 16; lanes; lanes >>= 1) s = R::join(s, state_xor(s, lanes));
    if (threadIdx.x & 31) return;
    i64 at[2];
    offsets(kept, (u32)output, at);
    out[at[0]] = R::template end<Out>(s, count, correction);
}
// Where outputs lie side by side and the reduced dimensions do not: threads of a row of the block read neighbours.
// Block 32 x 8; blockIdx.y is the part. A single reduced dimension has the stride `step`, several have 0.
template <class Op, class T, class Out>
__global__ void reduce_columns(Layout<2> kept, Layout<1> reduced, i64 outputs, i64 count, i64 step, i64 parts, double correction, const T* in, Out* out,
                               typename Op::template Of<T>::S* partial) {
    typedef typename Op::template Of<T> R;
    typedef typename R::S S;
    __shared__ __align__(16) char room[256 * sizeof(S)];
    S* all_parts = (S*)room;
    i64 output = (i64)blockIdx.x * 32 + threadIdx.x, at[2] = {0, 0};
    i64 share = (count + parts - 1) / parts, first = blockIdx.y * share, last = first + share < count ? first + share : count;
    S s = R::begin();
    if (output < outputs) {
        offsets(kept, (u32)output, at);
        const T* from = in + at[1];
        i64 i = first + threadIdx.y;
        if (step) {
            for (; i + 24 < last; i += 32) {
                T x[4];
#pragma unroll
                for (int k = 0; k < 4; k++) x[k] = from[(i + 8 * k) * step];
#pragma unroll
                for (int k = 0; k < 4; k++) R::take(s, x[k], i + 8 * k);
            }
            for (; i < last; i += 8) R::take(s, from[i * step], i);
        } else {
            for (; i < last; i += 8) R::take(s, from[offset_of(reduced, (u32)i)], i);
        }
    }
    all_parts[threadIdx.y * 32 + threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.y || output >= outputs) return;
    for (int y = 1; y < 8; y++) s = R::join(s, all_parts[y * 32 + threadIdx.x]);
    if (parts == 1) out[at[0]] = R::template end<Out>(s, count, correction);
    else partial[output * parts + blockIdx.y] = s;
}
