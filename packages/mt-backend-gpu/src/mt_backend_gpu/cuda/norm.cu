// layer_norm, rms_norm, group_norm and batch_norm, forward and backward.

// Where a row's elements find their weight: by column (layer_norm, rms_norm), or by channel (group_norm), where a row is
// `per_group` channels of `inner` elements, and rows of one sample follow each other.
template <bool GROUPS> DEVICE i64 channel_of(i64 row, i64 column, i64 groups, i64 per_group, i64 inner) {
    return GROUPS ? row % groups * per_group + column / inner : column;
}

// A block normalizes a row, or blockDim.y of them, a warp each. in, out: (rows, columns); weight, bias: by `channel_of`, either may be null; mean, scale:
// (rows), in the compute type. RMS takes no mean. Rows fit COUNT packs of V elements a thread, or COUNT is 0.
template <class T, class W, bool RMS, bool GROUPS, int V, int COUNT>
__global__ void __launch_bounds__(1024) norm_rows(i64 rows, i64 columns, double eps, i64 groups, i64 per_group, i64 inner, const T* in, const W* weight, const W* bias, T* out,
                          Compute<T>* mean, Compute<T>* scale) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    C x[COUNT ? COUNT * V : 1], m = 0, s = 0;
    if constexpr (COUNT > 0) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
            if (at < columns) {
                Pack<T, V> p = load_pack<V>(in + at);
#pragma unroll
                for (int i = 0; i < V; i++) { x[k * V + i] = cast<C>(p.v[i]); m += x[k * V + i]; }
            }
        }
    } else {
        for (i64 i = threadIdx.x; i < columns; i += blockDim.x) m += cast<C>(in[i]);
    }
    m = RMS ? (C)0 : over_block<Add>(m, parts) / (C)columns;
    if constexpr (COUNT > 0) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (((i64)k * blockDim.x + threadIdx.x) * V < columns) {
#pragma unroll
                for (int i = 0; i < V; i++) { C d = x[k * V + i] - m; s += d * d; }
            }
    } else {
        for (i64 i = threadIdx.x; i < columns; i += blockDim.x) { C d = cast<C>(in[i]) - m; s += d * d; }
    }
    s = rsqrt(over_block<Add>(s, parts) / (C)columns + (C)eps);
    if constexpr (COUNT > 0) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
            if (at < columns) {
                Pack<T, V> p;
                if (!GROUPS && weight && bias) {  // the usual case reads packs
                    Pack<W, V> w = load_pack<V>(weight + at), b = load_pack<V>(bias + at);
#pragma unroll
                    for (int i = 0; i < V; i++) p.v[i] = cast<T>((x[k * V + i] - m) * s * cast<C>(w.v[i]) + cast<C>(b.v[i]));
                } else {
#pragma unroll
                    for (int i = 0; i < V; i++) {
                        i64 c = channel_of<GROUPS>(row, at + i, groups, per_group, inner);
                        p.v[i] = cast<T>((x[k * V + i] - m) * s * (weight ? cast<C>(weight[c]) : (C)1) + (bias ? cast<C>(bias[c]) : (C)0));
                    }
                }
                store_pack(out + at, p);
            }
        }
    } else {
        for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
            i64 c = channel_of<GROUPS>(row, i, groups, per_group, inner);
            out[i] = cast<T>((cast<C>(in[i]) - m) * s * (weight ? cast<C>(weight[c]) : (C)1) + (bias ? cast<C>(bias[c]) : (C)0));
        }
    }
    if (threadIdx.x == 0) {
        if (!RMS) mean[row] = m;
        scale[row] = s;
    }
}

// The gradient of a row's input: with g = grad * weight and h the normalized row,
// scale * (g - mean(g) - h * mean(g * h)), without mean(g) for RMS.
template <class T, class W, bool RMS, bool GROUPS>
__global__ void norm_backward_rows(i64 columns, i64 groups, i64 per_group, i64 inner, const T* grad, const T* in, const Compute<T>* mean,
                                   const Compute<T>* scale, const W* weight, T* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = blockIdx.x, first = row * columns;
    C m = RMS ? (C)0 : mean[row], s = scale[row], sum_g = 0, sum_gh = 0;
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
        i64 c = channel_of<GROUPS>(row, i, groups, per_group, inner);
        C g = cast<C>(grad[first + i]) * (weight ? cast<C>(weight[c]) : (C)1);
        sum_g += g;
        sum_gh += g * (cast<C>(in[first + i]) - m) * s;
    }
    sum_g = RMS ? (C)0 : over_block<Add>(sum_g, parts) / (C)columns;
    sum_gh = over_block<Add>(sum_gh, parts) / (C)columns;
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
        i64 c = channel_of<GROUPS>(row, i, groups, per_group, inner);
        C g = cast<C>(grad[first + i]) * (weight ? cast<C>(weight[c]) : (C)1);
        C h = (cast<C>(in[first + i]) - m) * s;
        out[first + i] = cast<T>(s * (g - sum_g - h * sum_gh));
    }
}
// As above for rows of whole packs that fit a block's registers, weights by column.
template <class T, class W, bool RMS, int V, int COUNT>
__global__ void __launch_bounds__(512) norm_backward_packs(i64 rows, i64 columns, const T* grad, const T* in, const Compute<T>* mean, const Compute<T>* scale, const W* weight, T* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y, first = row * columns;
    if (row >= rows) return;
    C m = RMS ? (C)0 : mean[row], s = scale[row], sum_g = 0, sum_gh = 0;
    C g[COUNT * V], h[COUNT * V];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            Pack<T, V> pg = load_pack<V>(grad + first + at), px = load_pack<V>(in + first + at);
#pragma unroll
            for (int i = 0; i < V; i++) {
                int j = k * V + i;
                g[j] = cast<C>(pg.v[i]) * (weight ? cast<C>(weight[at + i]) : (C)1);
                h[j] = (cast<C>(px.v[i]) - m) * s;
                sum_g += g[j];
                sum_gh += g[j] * h[j];
            }
        }
    }
    sum_g = RMS ? (C)0 : over_block<Add>(sum_g, parts) / (C)columns;
    sum_gh = over_block<Add>(sum_gh, parts) / (C)columns;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            Pack<T, V> p;
#pragma unroll
            for (int i = 0; i < V; i++) p.v[i] = cast<T>(s * (g[k * V + i] - sum_g - h[k * V + i] * sum_gh));
            store_pack(out + first + at, p);
        }
    }
}
// Gradients of weight and bias of layer_norm and rms_norm: sums over rows. Block 32 x 8, a thread takes V columns;
// blockIdx.y is one of `parts` of the rows. partial: (2, parts, columns) where parts > 1, else the results are written.
template <class T, class W, bool RMS, int V>
__global__ void norm_backward_weight(i64 rows, i64 columns, i64 parts, const T* grad, const T* in, const Compute<T>* mean, const Compute<T>* scale,
                                     W* out_weight, W* out_bias, Compute<T>* partial) {
    typedef Compute<T> C;
    __shared__ C room[2][8][32 * V + 1];
    i64 column = ((i64)blockIdx.x * 32 + threadIdx.x) * V;
    i64 share = (rows + parts - 1) / parts, first = blockIdx.y * share, last = first + share < rows ? first + share : rows;
    C w[V], b[V];
#pragma unroll
    for (int k = 0; k < V; k++) w[k] = b[k] = 0;
    if (column < columns) {
#pragma unroll 4
        for (i64 row = first + threadIdx.y; row < last; row += 8) {
            Pack<T, V> pg = load_pack<V>(grad + row * columns + column), px = load_pack<V>(in + row * columns + column);
            C m = RMS ? (C)0 : mean[row], s = scale[row];
#pragma unroll
            for (int k = 0; k < V; k++) {
                C g = cast<C>(pg.v[k]);
                b[k] += g;
                w[k] += g * (cast<C>(px.v[k]) - m) * s;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < V; k++) {
        room[0][threadIdx.y][threadIdx.x + 32 * k] = w[k];
        room[1][threadIdx.y][threadIdx.x + 32 * k] = b[k];
    }
    __syncthreads();
    if (threadIdx.y || column >= columns) return;
#pragma unroll
    for (int k = 0; k < V; k++) {
        for (int y = 1; y < 8; y++) { w[k] += room[0][y][threadIdx.x + 32 * k]; b[k] += room[1][y][threadIdx.x + 32 * k]; }
        if (parts > 1) {
            partial[blockIdx.y * columns + column + k] = w[k];
            partial[(parts + blockIdx.y) * columns + column + k] = b[k];
        } else {
            if (out_weight) out_weight[column + k] = cast<W>(w[k]);
            if (out_bias) out_bias[column + k] = cast<W>(b[k]);
        }
    }
}
template <class C, class W>
__global__ void norm_join_weight(i64 columns, i64 parts, const C* partial, W* out_weight, W* out_bias) {
    i64 column = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    C w = 0, b = 0;
    for (i64 p = 0; p < parts; p++) { w += partial[p * columns + column]; b += partial[(parts + p) * columns + column]; }
    if (out_weight) out_weight[column] = cast<W>(w);
    if (out_bias) out_bias[column] = cast<W>(b);
}

// By channel: in is (samples, channels, inner), a block takes a channel. Sums in the compute type, in two passes.
// Statistics of batch_norm; running averages are brought up to date where they are not null.
template <class T, class W>
__global__ void channel_statistics(i64 samples, i64 channels, i64 inner, double eps, double momentum, const T* in, Compute<T>* mean,
                                   Compute<T>* scale, W* running_mean, W* running_var, Compute<T>* variance) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 channel = blockIdx.x, count = samples * inner;
    C m = 0, s = 0;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) m += cast<C>(in[(i / inner * channels + channel) * inner + i % inner]);
    m = over_block<Add>(m, parts) / (C)count;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
        C d = cast<C>(in[(i / inner * channels + channel) * inner + i % inner]) - m;
        s += d * d;
    }
    s = over_block<Add>(s, parts);
    if (threadIdx.x) return;
    mean[channel] = m;
    scale[channel] = rsqrt(s / (C)count + (C)eps);
    if (variance) variance[channel] = s / (C)count;
    if (running_mean) running_mean[channel] = cast<W>(((C)1 - (C)momentum) * cast<C>(running_mean[channel]) + (C)momentum * m);
    if (running_var) running_var[channel] = cast<W>(((C)1 - (C)momentum) * cast<C>(running_var[channel]) + (C)momentum * s / (C)(count - 1));
}
// out = (in - mean) * scale * weight + bias by channel. VAR: `scale` holds variances, of which the scale is taken.
template <class T, class W, class M, bool VAR>
__global__ void channel_affine(i64 count, i64 channels, i64 inner, double eps, const T* in, const M* mean, const M* scale, const W* weight, const W* bias,
                               T* out) {
    typedef Compute<T> C;
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    i64 c = i / inner % channels;
    C s = VAR ? rsqrt(cast<C>(scale[c]) + (C)eps) : cast<C>(scale[c]);
    out[i] = cast<T>((cast<C>(in[i]) - cast<C>(mean[c])) * s * (weight ? cast<C>(weight[c]) : (C)1) + (bias ? cast<C>(bias[c]) : (C)0));
}
// sums[0] = sum of grad, sums[1] = sum of grad * normalized, by channel; they are the gradients of bias and weight.
template <class T, class W, class M, bool VAR>
__global__ void channel_backward_sums(i64 samples, i64 channels, i64 inner, double eps, const T* grad, const T* in, const M* mean, const M* scale,
                                      Compute<T>* sums, W* out_weight, W* out_bias) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 channel = blockIdx.x, count = samples * inner;
    C m = cast<C>(mean[channel]), s = VAR ? rsqrt(cast<C>(scale[channel]) + (C)eps) : cast<C>(scale[channel]), b = 0, w = 0;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
        i64 at = (i / inner * channels + channel) * inner + i % inner;
        C g = cast<C>(grad[at]);
        b += g;
        w += g * (cast<C>(in[at]) - m) * s;
    }
    b = over_block<Add>(b, parts);
    w = over_block<Add>(w, parts);
    if (threadIdx.x) return;
    sums[channel] = b;
    sums[channels + channel] = w;
    if (out_weight) out_weight[channel] = cast<W>(w);
    if (out_bias) out_bias[channel] = cast<W>(b);
}
template <class T, class W, class M, bool VAR>
__global__ void channel_backward_input(i64 elements, i64 channels, i64 inner, i64 count, double eps, const T* grad, const T* in, const M* mean,
                                       const M* scale, const W* weight, const Compute<T>* sums, T* out) {
    typedef Compute<T> C;
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements) return;
    i64 c = i / inner % channels;
    C s = VAR ? rsqrt(cast<C>(scale[c]) + (C)eps) : cast<C>(scale[c]), w = weight ? cast<C>(weight[c]) : (C)1, g = cast<C>(grad[i]);
    if (VAR) { out[i] = cast<T>(g * s * w); return; }  // evaluation: the statistics are constants
    C h = (cast<C>(in[i]) - cast<C>(mean[c])) * s;
    out[i] = cast<T>((g - sums[c] / (C)count - h * (sums[channels + c] / (C)count)) * s * w);
}
// group_norm's sums by sample and channel: gradients of weight and bias are their sums over samples.
// A block takes a channel; samples one after another. rows of mean and scale: (samples, groups).
template <class T, class W>
__global__ void group_backward_weight(i64 samples, i64 channels, i64 inner, i64 groups, const T* grad, const T* in, const Compute<T>* mean,
                                      const Compute<T>* scale, W* out_weight, W* out_bias) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 channel = blockIdx.x, count = samples * inner, per_group = channels / groups;
    C w = 0, b = 0;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
        i64 sample = i / inner, at = (sample * channels + channel) * inner + i % inner, row = sample * groups + channel / per_group;
        C g = cast<C>(grad[at]);
        b += g;
        w += g * (cast<C>(in[at]) - mean[row]) * scale[row];
    }
    b = over_block<Add>(b, parts);
    w = over_block<Add>(w, parts);
    if (threadIdx.x) return;
    if (out_weight) out_weight[channel] = cast<W>(w);
    if (out_bias) out_bias[channel] = cast<W>(b);
}
