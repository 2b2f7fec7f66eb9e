// Reading and writing by index, with the bounds checked on the device: a fault is kept for the host's next synchronization.

// out[i, j] = table[index[i], j]; a row of the table is `columns` elements. index: (rows).
template <class T, class Index, int V>
__global__ void take_rows(i64 rows, i64 columns, i64 count, Faults faults, const T* table, const Index* index, T* out) {
    i64 packs = columns / V, i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * packs) return;
    i64 row = i / packs, at = i % packs * V, from = index[row];
    if (!in_bounds(from, count, faults)) {
        for (int k = 0; k < V; k++) out[row * columns + at + k] = cast<T>(0.0f);
        return;
    }
    store_pack(out + row * columns + at, load_pack<V>(table + from * columns + at));
}

// Atomic addition: halves by comparing the word that holds them.
template <class T> DEVICE void add_atomic(T* to, T x) { atomicAdd(to, x); }
template <class T> DEVICE void add_atomic_half(T* to, T x) {
    u32* word = (u32*)((u64)to & ~3ull);
    int shift = ((u64)to & 2) ? 16 : 0;
    u32 old = *(volatile u32*)word, seen;
    do {
        seen = old;
        T held = {(uint16_t)(seen >> shift)};
        T sum = cast<T>(cast<float>(held) + cast<float>(x));
        old = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | (u32)sum.bits << shift);
    } while (old != seen);
}
template <> DEVICE void add_atomic(f16* to, f16 x) { add_atomic_half(to, x); }
template <> DEVICE void add_atomic(bf16* to, bf16 x) { add_atomic_half(to, x); }
template <> DEVICE void add_atomic(i64* to, i64 x) { atomicAdd((u64*)to, (u64)x); }

// table[index[i], j] += grad[i, j], in the accumulator's type A; the rows at `padding` are left out.
template <class T, class A, class Index>
__global__ void add_rows(i64 rows, i64 columns, i64 count, i64 padding, Faults faults, const T* grad, const Index* index, A* table) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    i64 row = i / columns, to = index[row];
    if (to == padding || !in_bounds(to, count, faults)) return;
    add_atomic(table + to * columns + i % columns, cast<A>(grad[i]));
}

// gather: out[i] = in[.., index[i], ..]; the layout holds out, index and in, the last with stride 0 along the dimension.
template <class T, class Index>
__global__ void gather(Layout<3> layout, i64 count, i64 size, i64 stride, Faults faults, const T* in, const Index* index, T* out) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, at[3];
    if (i >= count) return;
    offsets(layout, (u32)i, at);
    i64 from = index[at[1]];
    out[at[0]] = in_bounds(from, size, faults) ? in[at[2] + from * stride] : cast<T>(0.0f);
}
// scatter: out[.., index[i], ..] = source[i], or += with ADD; the layout holds out (stride 0 along the dimension), index, source.
template <class T, class Index, bool ADD>
__global__ void scatter(Layout<3> layout, i64 count, i64 size, i64 stride, Faults faults, T* out, const Index* index, const T* source) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, at[3];
    if (i >= count) return;
    offsets(layout, (u32)i, at);
    i64 to = index[at[1]];
    if (!in_bounds(to, size, faults)) return;
    if (ADD) add_atomic(out + at[0] + to * stride, source[at[2]]);
    else out[at[0] + to * stride] = source[at[2]];
}
// A number in place of the source.
template <class T, class Index>
__global__ void scatter_value(Layout<2> layout, i64 count, i64 size, i64 stride, Faults faults, double value, T* out, const Index* index) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, at[2];
    if (i >= count) return;
    offsets(layout, (u32)i, at);
    i64 to = index[at[1]];
    if (in_bounds(to, size, faults)) out[at[0] + to * stride] = cast<T>(value);
}

// Advanced indexing: up to four index arrays, broadcast against each other. The layout holds the indexed result, the
// array's own offsets and the indices' (all of one layout); sizes and strides of the indexed dimensions follow.
struct Indexed { i64 count; i64 size[4]; i64 stride[4]; const i64* index[4]; };
DEVICE bool indexed_offset(const Indexed& x, i64 at, const Faults& faults, i64& offset) {
    for (int k = 0; k < x.count; k++) {
        i64 i = x.index[k][at];
        if (!wrap(i, x.size[k], faults)) return false;
        offset += i * x.stride[k];
    }
    return true;
}
template <class T>
__global__ void index_get(Layout<3> layout, Indexed indexed, i64 count, Faults faults, const T* in, T* out) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, at[3];
    if (i >= count) return;
    offsets(layout, (u32)i, at);
    i64 from = at[1];
    out[at[0]] = indexed_offset(indexed, at[2], faults, from) ? in[from] : cast<T>(0.0f);
}
template <class T, bool ADD>
__global__ void index_put(Layout<3> layout, Indexed indexed, i64 count, Faults faults, T* out, const T* values) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, at[3];
    if (i >= count) return;
    offsets(layout, (u32)i, at);
    i64 to = at[1];
    if (!indexed_offset(indexed, at[2], faults, to)) return;
    if (ADD) add_atomic(out + to, values[at[0]]);
    else out[to] = values[at[0]];
}
