// Scaled dot product attention without the matrix of weights (Dao, 2023), forward and backward.
//
// q: (batch, heads, queries, D), k and v: (batch, heads of keys, keys, D), each with strides of its own and elements of a
// row side by side; rows of q's heads share the heads of k in groups. mask: additive, in float, broadcast by its strides.
// log_sums: (batch, heads, queries) float. Halves are multiplied by mma.m16n8k16.

struct View { i64 batch, head, row; };  // strides in elements
struct Shape { i64 heads, key_heads, queries, keys, width; float scale; int causal; };
struct MaskView { i64 batch, head, row, column; };

#ifdef MT_CPU
template <bool BFLOAT> DEVICE void mma(float* c, const u32* a, const u32* b) { mt_mma(c, a, b, BFLOAT, __LINE__); }
// ldmatrix.x4.trans: lane 8i + r names row r of matrix i; a lane gets rows 2(l%4), 2(l%4)+1 of column l/4.
DEVICE void load_transposed(u32* r, const void* row) {
    for (int i = 0; i < 4; i++) {
        u32 pair = 0;
        for (int h = 0; h < 2; h++) {
            u64 from = mt_exchange((u64)row, 8 * i + mt_lane() % 4 * 2 + h, __LINE__);
            pair |= (u32)((const uint16_t*)from)[mt_lane() / 4] << 16 * h;
        }
        r[i] = pair;
    }
}
#else
template <bool BFLOAT> DEVICE void mma(float* c, const u32* a, const u32* b) {
    if (BFLOAT)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void load_transposed(u32* r, const void* row) {
    u32 address = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
#endif

template <class T> struct IsBfloat { static constexpr bool value = false; };
template <> struct IsBfloat<bf16> { static constexpr bool value = true; };
template <class T> DEVICE u32 pair_of(float low, float high) { return (u32)cast<T>(low).bits | (u32)cast<T>(high).bits << 16; }

constexpr int TILE = 64;    // rows of q of a block, and keys of a step
constexpr int THREADS = 128;
// Rows in shared memory are D + 8 elements apart, so that the eight rows a warp reads at once lie in different banks.
template <class T, int D> DEVICE T* row_of(T* tile, int row) { return tile + row * (D + 8); }

// Copies rows [first, first + ROWS) of a matrix of `count` rows into shared memory, zeros beyond its end and width.
template <class T, int D, int ROWS> DEVICE void load_tile(T* tile, const T* from, i64 stride, i64 first, i64 count, i64 width) {
    constexpr int PACKS = D / 8;
    for (int i = threadIdx.x; i < ROWS * PACKS; i += THREADS) {
        int row = i / PACKS, at = i % PACKS * 8;
        Pack<T, 8> p;
        if (first + row < count && at < width) {
            p = load_pack<8>(from + (first + row) * stride + at);
        } else {
#pragma unroll
            for (int k = 0; k < 8; k++) p.v[k].bits = 0;
        }
        store_pack(row_of<T, D>(tile, row) + at, p);
    }
}
DEVICE u32 word_at(const void* p) { return *(const u32*)p; }
// The A fragment of rows [row, row + 16) and columns [column, column + 16).
template <class T, int D> DEVICE void fragment_a(u32* a, const T* tile, int row, int column) {
    int g = (threadIdx.x & 31) / 4, t = (threadIdx.x & 3) * 2;
    const T* p = tile + (row + g) * (D + 8) + column + t;
    a[0] = word_at(p);
    a[1] = word_at(p + 8 * (D + 8));
    a[2] = word_at(p + 8);
    a[3] = word_at(p + 8 * (D + 8) + 8);
}
// The B fragment whose columns are rows [row, row + 8) of the tile.
template <class T, int D> DEVICE void fragment_b(u32* b, const T* tile, int row, int column) {
    const T* p = tile + (row + (threadIdx.x & 31) / 4) * (D + 8) + column + (threadIdx.x & 3) * 2;
    b[0] = word_at(p);
    b[1] = word_at(p + 8);
}
// Two B fragments whose rows are rows [row, row + 16) of the tile, columns [column, column + 16).
template <class T, int D> DEVICE void fragments_transposed(u32* b, const T* tile, int row, int column) {
    int lane = threadIdx.x & 31;
    load_transposed(b, tile + (row + lane % 16) * (D + 8) + column + lane / 16 * 8);
}
// sums (16 x 8 * TILES) += rows of a tile (16 x D, from `row`) by the rows of another (8 * TILES x D), transposed.
template <class T, int D, int TILES> DEVICE void multiply_rows(float (*sums)[4], const T* left, int row, const T* right) {
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        u32 a[4];
        fragment_a<T, D>(a, left, row, d);
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            u32 b[2];
            fragment_b<T, D>(b, right, n * 8, d);
            mma<IsBfloat<T>::value>(sums[n], a, b);
        }
    }
}
// out (16 x D) += weights (16 x 8 * TILES, as sums lie) by the rows of a tile (8 * TILES x D).
template <class T, int D, int TILES> DEVICE void multiply_weights(float (*out)[4], float (*weights)[4], const T* tile) {
#pragma unroll
    for (int n = 0; n < TILES; n += 2) {
        u32 a[4] = {pair_of<T>(weights[n][0], weights[n][1]), pair_of<T>(weights[n][2], weights[n][3]),
                    pair_of<T>(weights[n + 1][0], weights[n + 1][1]), pair_of<T>(weights[n + 1][2], weights[n + 1][3])};
#pragma unroll
        for (int d = 0; d < D / 8; d += 2) {
            u32 b[4];
            fragments_transposed<T, D>(b, tile, n * 8, d * 8);
            mma<IsBfloat<T>::value>(out[d], a, b);
            mma<IsBfloat<T>::value>(out[d + 1], a, b + 2);
        }
    }
}
DEVICE float over_quad_max(float x) { x = fmaxf(x, shuffle_xor(x, 1)); return fmaxf(x, shuffle_xor(x, 2)); }
DEVICE float over_quad_sum(float x) { x += shuffle_xor(x, 1); return x + shuffle_xor(x, 2); }
DEVICE float score(float x, i64 query, i64 key, const Shape& s, const float* mask, const MaskView& m) {
    if (key >= s.keys || (s.causal && key > query)) return -MT_INFINITY;
    x *= s.scale;
    return mask && query < s.queries ? x + mask[query * m.row + key * m.column] : x;
}
// Writes a warp's 16 x D sums, times a factor for each of the two rows of a thread.
template <class T, int D> DEVICE void store_rows(T* out, i64 stride, i64 first, i64 count, i64 width, float (*sums)[4], float low, float high) {
    int g = (threadIdx.x & 31) / 4, t = (threadIdx.x & 3) * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        i64 row = first + g + 8 * half;
        float factor = half ? high : low;
        if (row >= count) continue;
#pragma unroll
        for (int d = 0; d < D / 8; d++)
            if (d * 8 + t < width) *(u32*)(out + row * stride + d * 8 + t) = pair_of<T>(sums[d][2 * half] * factor, sums[d][2 * half + 1] * factor);
    }
}

// Grid: (tiles of queries, heads, batch); a warp takes 16 rows.
template <class T, int D>
__global__ void __launch_bounds__(128) attention_forward(Shape s, View vq, View vk, View vv, View vo, MaskView vm, const T* q, const T* k, const T* v,
                                                         const float* mask, T* out, float* log_sums) {
    MT_SHARED_BYTES(shared);
    T* tile_k = (T*)shared;
    T* tile_v = tile_k + TILE * (D + 8);
    i64 head = blockIdx.y, key_head = head / (s.heads / s.key_heads), batch = blockIdx.z;
    i64 first = (i64)(gridDim.x - 1 - blockIdx.x) * TILE;
    int warp = threadIdx.x >> 5, g = (threadIdx.x & 31) / 4, t = (threadIdx.x & 3) * 2;
    k += batch * vk.batch + key_head * vk.head;
    v += batch * vv.batch + key_head * vv.head;
    if (mask) mask += batch * vm.batch + head * vm.head;
    u32 rows[D / 16][4];
    load_tile<T, D, TILE>(tile_k, q + batch * vq.batch + head * vq.head, vq.row, first, s.queries, s.width);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < D / 16; d++) fragment_a<T, D>(rows[d], tile_k, warp * 16, d * 16);
    float sums[D / 8][4], most[2] = {-MT_INFINITY, -MT_INFINITY}, total[2] = {0, 0};
#pragma unroll
    for (int d = 0; d < D / 8; d++) for (int i = 0; i < 4; i++) sums[d][i] = 0;
    i64 last = s.causal && first + TILE < s.keys ? first + TILE : s.keys;
    for (i64 key = 0; key < last; key += TILE) {
        __syncthreads();
        load_tile<T, D, TILE>(tile_k, k, vk.row, key, s.keys, s.width);
        load_tile<T, D, TILE>(tile_v, v, vv.row, key, s.keys, s.width);
        __syncthreads();
        float scores[TILE / 8][4];
#pragma unroll
        for (int n = 0; n < TILE / 8; n++) for (int i = 0; i < 4; i++) scores[n][i] = 0;
#pragma unroll
        for (int d = 0; d < D / 16; d++) {
#pragma unroll
            for (int n = 0; n < TILE / 8; n++) {
                u32 b[2];
                fragment_b<T, D>(b, tile_k, n * 8, d * 16);
                mma<IsBfloat<T>::value>(scores[n], rows[d], b);
            }
        }
        float high[2] = {most[0], most[1]};
#pragma unroll
        for (int n = 0; n < TILE / 8; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                scores[n][i] = score(scores[n][i], first + warp * 16 + g + 8 * (i / 2), key + n * 8 + t + i % 2, s, mask, vm);
                high[i / 2] = fmaxf(high[i / 2], scores[n][i]);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            high[h] = over_quad_max(high[h]);
            float base = high[h] == -MT_INFINITY ? 0.0f : high[h], factor = __expf(most[h] - base), part = 0;
#pragma unroll
            for (int n = 0; n < TILE / 8; n++) {
#pragma unroll
                for (int i = 2 * h; i < 2 * h + 2; i++) { scores[n][i] = __expf(scores[n][i] - base); part += scores[n][i]; }
            }
            total[h] = total[h] * factor + part;
            most[h] = high[h];
#pragma unroll
            for (int d = 0; d < D / 8; d++) { sums[d][2 * h] *= factor; sums[d][2 * h + 1] *= factor; }
        }
        multiply_weights<T, D, TILE / 8>(sums, scores, tile_v);
    }
    float scale[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        total[h] = over_quad_sum(total[h]);
        scale[h] = total[h] == 0.0f ? 0.0f : 1.0f / total[h];
        i64 row = first + warp * 16 + g + 8 * h;
        if (t == 0 && row < s.queries) log_sums[(batch * s.heads + head) * s.queries + row] = total[h] == 0.0f ? MT_INFINITY : most[h] + logf(total[h]);
    }
    store_rows<T, D>(out + batch * vo.batch + head * vo.head, vo.row, first + warp * 16, s.queries, s.width, sums, scale[0], scale[1]);
}

// delta = the sum of grad * out by row: (batch, heads, queries). A warp takes a row; grid (rows / 4, heads, batch).
template <class T>
__global__ void attention_delta(Shape s, View vo, View vg, const T* out, const T* grad, Compute<T>* delta) {
    typedef Compute<T> C;
    i64 row = (i64)blockIdx.x * 4 + (threadIdx.x >> 5), head = blockIdx.y, batch = blockIdx.z;
    if (row >= s.queries) return;
    const T* o = out + batch * vo.batch + head * vo.head + row * vo.row;
    const T* g = grad + batch * vg.batch + head * vg.head + row * vg.row;
    C sum = 0;
    for (int i = threadIdx.x & 31; i < s.width; i += 32) sum += cast<C>(o[i]) * cast<C>(g[i]);
    sum = over_warp<Add>(sum);
    if ((threadIdx.x & 31) == 0) delta[(batch * s.heads + head) * s.queries + row] = sum;
}

constexpr int STEP = 32;  // queries, or keys, of a step of the backward kernels
// Gradients of k and v: a block takes 64 keys, a warp 16 of them; heads of q that share a key's head are added up.
// Grid: (tiles of keys, heads of keys, batch).
template <class T, int D>
__global__ void __launch_bounds__(128) attention_backward_keys(Shape s, View vq, View vk, View vv, View vg, View vdk, View vdv, MaskView vm, const T* q,
                                                               const T* k, const T* v, const T* grad, const float* mask, const float* log_sums,
                                                               const float* delta, T* out_k, T* out_v) {
    MT_SHARED_BYTES(shared);
    T* tile_k = (T*)shared;
    T* tile_v = tile_k + TILE * (D + 8);
    T* tile_q = tile_v + TILE * (D + 8);
    T* tile_g = tile_q + STEP * (D + 8);
    i64 key_head = blockIdx.y, batch = blockIdx.z, first = (i64)blockIdx.x * TILE, group = s.heads / s.key_heads;
    int warp = threadIdx.x >> 5, g = (threadIdx.x & 31) / 4, t = (threadIdx.x & 3) * 2;
    load_tile<T, D, TILE>(tile_k, k + batch * vk.batch + key_head * vk.head, vk.row, first, s.keys, s.width);
    load_tile<T, D, TILE>(tile_v, v + batch * vv.batch + key_head * vv.head, vv.row, first, s.keys, s.width);
    float grad_k[D / 8][4], grad_v[D / 8][4];
#pragma unroll
    for (int d = 0; d < D / 8; d++) for (int i = 0; i < 4; i++) grad_k[d][i] = grad_v[d][i] = 0;
    for (i64 head = key_head * group; head < (key_head + 1) * group; head++) {
        const T* from_q = q + batch * vq.batch + head * vq.head;
        const T* from_g = grad + batch * vg.batch + head * vg.head;
        const float* rows_mask = mask ? mask + batch * vm.batch + head * vm.head : nullptr;
        i64 base = (batch * s.heads + head) * s.queries;
        for (i64 query = s.causal ? first / STEP * STEP : 0; query < s.queries; query += STEP) {
            __syncthreads();
            load_tile<T, D, STEP>(tile_q, from_q, vq.row, query, s.queries, s.width);
            load_tile<T, D, STEP>(tile_g, from_g, vg.row, query, s.queries, s.width);
            __syncthreads();
            float weights[STEP / 8][4], slopes[STEP / 8][4];
#pragma unroll
            for (int n = 0; n < STEP / 8; n++) for (int i = 0; i < 4; i++) weights[n][i] = slopes[n][i] = 0;
            multiply_rows<T, D, STEP / 8>(weights, tile_k, warp * 16, tile_q);
            multiply_rows<T, D, STEP / 8>(slopes, tile_v, warp * 16, tile_g);
#pragma unroll
            for (int n = 0; n < STEP / 8; n++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    i64 row = query + n * 8 + t + i % 2, key = first + warp * 16 + g + 8 * (i / 2);
                    bool inside = row < s.queries;
                    float w = inside ? __expf(score(weights[n][i], row, key, s, rows_mask, vm) - log_sums[base + row]) : 0.0f;
                    weights[n][i] = w;
                    slopes[n][i] = inside ? w * (slopes[n][i] - delta[base + row]) : 0.0f;
                }
            }
            multiply_weights<T, D, STEP / 8>(grad_v, weights, tile_g);
            multiply_weights<T, D, STEP / 8>(grad_k, slopes, tile_q);
        }
    }
    store_rows<T, D>(out_k + batch * vdk.batch + key_head * vdk.head, vdk.row, first + warp * 16, s.keys, s.width, grad_k, s.scale, s.scale);
    store_rows<T, D>(out_v + batch * vdv.batch + key_head * vdv.head, vdv.row, first + warp * 16, s.keys, s.width, grad_v, 1.0f, 1.0f);
}
// The gradient of q: a block takes 64 rows, a warp 16. Grid: (tiles of queries, heads, batch).
template <class T, int D>
__global__ void __launch_bounds__(128) attention_backward_queries(Shape s, View vq, View vk, View vv, View vg, View vdq, MaskView vm, const T* q, const T* k,
                                                                  const T* v, const T* grad, const float* mask, const float* log_sums, const float* delta,
                                                                  T* out) {
    MT_SHARED_BYTES(shared);
    T* tile_q = (T*)shared;
    T* tile_g = tile_q + TILE * (D + 8);
    T* tile_k = tile_g + TILE * (D + 8);
    T* tile_v = tile_k + STEP * (D + 8);
    i64 head = blockIdx.y, key_head = head / (s.heads / s.key_heads), batch = blockIdx.z, first = (i64)blockIdx.x * TILE;
    int warp = threadIdx.x >> 5, g = (threadIdx.x & 31) / 4, t = (threadIdx.x & 3) * 2;
    load_tile<T, D, TILE>(tile_q, q + batch * vq.batch + head * vq.head, vq.row, first, s.queries, s.width);
    load_tile<T, D, TILE>(tile_g, grad + batch * vg.batch + head * vg.head, vg.row, first, s.queries, s.width);
    k += batch * vk.batch + key_head * vk.head;
    v += batch * vv.batch + key_head * vv.head;
    if (mask) mask += batch * vm.batch + head * vm.head;
    float grad_q[D / 8][4], sum[2], less[2];
#pragma unroll
    for (int d = 0; d < D / 8; d++) for (int i = 0; i < 4; i++) grad_q[d][i] = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        i64 row = first + warp * 16 + g + 8 * h, at = (batch * s.heads + head) * s.queries + row;
        sum[h] = row < s.queries ? log_sums[at] : MT_INFINITY;
        less[h] = row < s.queries ? delta[at] : 0.0f;
    }
    i64 last = s.causal && first + TILE < s.keys ? first + TILE : s.keys;
    for (i64 key = 0; key < last; key += STEP) {
        __syncthreads();
        load_tile<T, D, STEP>(tile_k, k, vk.row, key, s.keys, s.width);
        load_tile<T, D, STEP>(tile_v, v, vv.row, key, s.keys, s.width);
        __syncthreads();
        float weights[STEP / 8][4], slopes[STEP / 8][4];
#pragma unroll
        for (int n = 0; n < STEP / 8; n++) for (int i = 0; i < 4; i++) weights[n][i] = slopes[n][i] = 0;
        multiply_rows<T, D, STEP / 8>(weights, tile_q, warp * 16, tile_k);
        multiply_rows<T, D, STEP / 8>(slopes, tile_g, warp * 16, tile_v);
#pragma unroll
        for (int n = 0; n < STEP / 8; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float w = __expf(score(weights[n][i], first + warp * 16 + g + 8 * (i / 2), key + n * 8 + t + i % 2, s, mask, vm) - sum[i / 2]);
                slopes[n][i] = w * (slopes[n][i] - less[i / 2]);
            }
        }
        multiply_weights<T, D, STEP / 8>(grad_q, slopes, tile_k);
    }
    store_rows<T, D>(out + batch * vdq.batch + head * vdq.head, vdq.row, first + warp * 16, s.queries, s.width, grad_q, s.scale, s.scale);
}
