// Softmax and its logarithm along a dimension, forward and backward: the slice is read once into registers where it fits.

template <bool LOG, class C> DEVICE C softmax_value(C x, C most, C sum, C log_sum) {
    return LOG ? x - most - log_sum : exp(x - most) / sum;
}
template <class C> DEVICE C lowest() { return -(C)MT_INFINITY; }

// Rows that lie one after another; a thread takes COUNT packs of V elements. in, out: (rows, columns). A block takes one
// row, or blockDim.y of them, a warp each.
template <class T, class Out, bool LOG, int V, int COUNT>
__global__ void __launch_bounds__(1024) softmax_rows(i64 rows, i64 columns, const T* in, Out* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    C x[COUNT * V], most = lowest<C>();
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            Pack<T, V> p = load_pack<V>(in + at);
#pragma unroll
            for (int i = 0; i < V; i++) { x[k * V + i] = cast<C>(p.v[i]); most = Max::of(most, x[k * V + i]); }
        }
    }
    most = over_block<Max>(most, parts);
    C sum = 0;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (((i64)k * blockDim.x + threadIdx.x) * V < columns) {
#pragma unroll
            for (int i = 0; i < V; i++) sum += exp(x[k * V + i] - most);
        }
    }
    sum = over_block<Add>(sum, parts);
    C log_sum = LOG ? log(sum) : (C)0;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            Pack<Out, V> p;
#pragma unroll
            for (int i = 0; i < V; i++) p.v[i] = cast<Out>(softmax_value<LOG>(x[k * V + i], most, sum, log_sum));
            store_pack(out + at, p);
        }
    }
}
// A running maximum, and the sum of exponentials relative to it.
template <class C, int V> DEVICE void take_exponentials(const C (&x)[V], C& most, C& sum) {
    C high = x[0];
#pragma unroll
    for (int k = 1; k < V; k++) high = Max::of(high, x[k]);
    if (!(high <= most)) { sum *= exp(most - high); most = high; }
    if (most != lowest<C>()) {
#pragma unroll
        for (int k = 0; k < V; k++) sum += exp(x[k] - most);
    }
}
// Rows of any length, whole packs of V: maximum and sum in one pass, values in a second one. A block takes a row.
template <class T, class Out, bool LOG, int V>
__global__ void softmax_long_rows(i64 columns, const T* in, Out* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    C most = lowest<C>(), sum = 0, x[V];
    for (i64 i = (i64)threadIdx.x * V; i < columns; i += (i64)blockDim.x * V) {
        Pack<T, V> p = load_pack<V>(in + i);
#pragma unroll
        for (int k = 0; k < V; k++) x[k] = cast<C>(p.v[k]);
        take_exponentials(x, most, sum);
    }
    C top = over_block<Max>(most, parts);
    sum = over_block<Add>(most == top ? sum : sum * exp(most - top), parts);
    C log_sum = LOG ? log(sum) : (C)0;
    for (i64 i = (i64)threadIdx.x * V; i < columns; i += (i64)blockDim.x * V) {
        Pack<T, V> p = load_pack<V>(in + i);
        Pack<Out, V> y;
#pragma unroll
        for (int k = 0; k < V; k++) y.v[k] = cast<Out>(softmax_value<LOG>(cast<C>(p.v[k]), top, sum, log_sum));
        store_pack(out + i, y);
    }
}
// Along a dimension with others inside: a thread takes one slice. in, out: (outer, columns, inner).
template <class T, class Out, bool LOG>
__global__ void softmax_inner(i64 slices, i64 columns, i64 inner, const T* in, Out* out) {
    typedef Compute<T> C;
    i64 slice = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slice >= slices) return;
    i64 first = slice / inner * columns * inner + slice % inner;
    C most = lowest<C>(), sum = 0;
    for (i64 i = 0; i < columns; i++) most = Max::of(most, cast<C>(in[first + i * inner]));
    for (i64 i = 0; i < columns; i++) sum += exp(cast<C>(in[first + i * inner]) - most);
    C log_sum = LOG ? log(sum) : (C)0;
    for (i64 i = 0; i < columns; i++)
        out[first + i * inner] = cast<Out>(softmax_value<LOG>(cast<C>(in[first + i * inner]), most, sum, log_sum));
}

template <bool LOG, class C> DEVICE C softmax_gradient(C g, C y, C sum) { return LOG ? g - exp(y) * sum : y * (g - sum); }
// grad, y: (rows, columns) -> out.
template <class T, class Out, bool LOG>
__global__ void softmax_backward_rows(i64 columns, const T* grad, const T* y, Out* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = blockIdx.x * columns;
    C sum = 0;
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
        C g = cast<C>(grad[row + i]);
        sum += LOG ? g : g * cast<C>(y[row + i]);
    }
    sum = over_block<Add>(sum, parts);
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x)
        out[row + i] = cast<Out>(softmax_gradient<LOG>(cast<C>(grad[row + i]), cast<C>(y[row + i]), sum));
}
template <class T, class Out, bool LOG, int V, int COUNT>
__global__ void __launch_bounds__(512) softmax_backward_packs(i64 rows, i64 columns, const T* grad, const T* y, Out* out) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    row *= columns;
    Pack<T, V> g[COUNT], v[COUNT];
    C sum = 0;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            g[k] = load_pack<V>(grad + row + at);
            v[k] = load_pack<V>(y + row + at);
#pragma unroll
            for (int i = 0; i < V; i++) sum += LOG ? cast<C>(g[k].v[i]) : cast<C>(g[k].v[i]) * cast<C>(v[k].v[i]);
        }
    }
    sum = over_block<Add>(sum, parts);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        i64 at = ((i64)k * blockDim.x + threadIdx.x) * V;
        if (at < columns) {
            Pack<Out, V> p;
#pragma unroll
            for (int i = 0; i < V; i++) p.v[i] = cast<Out>(softmax_gradient<LOG>(cast<C>(g[k].v[i]), cast<C>(v[k].v[i]), sum));
            store_pack(out + row + at, p);
        }
    }
}
template <class T, class Out, bool LOG>
__global__ void softmax_backward_inner(i64 slices, i64 columns, i64 inner, const T* grad, const T* y, Out* out) {
    typedef Compute<T> C;
    i64 slice = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slice >= slices) return;
    i64 first = slice / inner * columns * inner + slice % inner;
    C sum = 0;
    for (i64 i = 0; i < columns; i++) {
        C g = cast<C>(grad[first + i * inner]);
        sum += LOG ? g : g * cast<C>(y[first + i * inner]);
    }
    for (i64 i = 0; i < columns; i++) {
        i64 at = first + i * inner;
        out[at] = cast<Out>(softmax_gradient<LOG>(cast<C>(grad[at]), cast<C>(y[at]), sum));
    }
}
