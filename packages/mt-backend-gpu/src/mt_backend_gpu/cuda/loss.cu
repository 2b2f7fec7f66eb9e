// nll_loss and cross_entropy.

// in: (samples, classes, inner) log-probabilities; target: (samples, inner). REDUCTION: 0 none, 1 mean, 2 sum.
// One block makes the sums; `total` gets the sum of the weights that took part.
template <class T, class Index, int REDUCTION>
__global__ void nll_forward(i64 samples, i64 classes, i64 inner, i64 ignored, Faults faults, const T* in, const Index* target, const T* weight, T* out,
                            T* total) {
    typedef Compute<T> C;
    __shared__ C parts[32];
    C loss = 0, weights = 0;
    i64 count = samples * inner;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        i64 t = target[i];
        C value = 0;
        if (t != ignored && in_bounds(t, classes, faults)) {
            C w = weight ? cast<C>(weight[t]) : (C)1;
            value = -w * cast<C>(in[(i / inner * classes + t) * inner + i % inner]);
            weights += w;
        }
        loss += value;
        if (REDUCTION == 0) out[i] = cast<T>(value);
    }
    if (REDUCTION == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = cast<T>((C)0);
        return;
    }
    loss = over_block<Add>(loss, parts);
    weights = over_block<Add>(weights, parts);
    if (threadIdx.x) return;
    *out = cast<T>(REDUCTION == 1 ? loss / weights : loss);
    *total = cast<T>(weights);
}
// Every element of the gradient is written: zero beside the target's class.
template <class T, class Index, int REDUCTION>
__global__ void nll_backward(i64 samples, i64 classes, i64 inner, i64 ignored, const T* grad, const Index* target, const T* weight, const T* total,
                             T* out) {
    typedef Compute<T> C;
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples * classes * inner) return;
    i64 c = i / inner % classes, at = i / (inner * classes) * inner + i % inner, t = target[at];
    C value = 0;
    if (t == c && t != ignored) {
        C w = weight ? cast<C>(weight[t]) : (C)1;
        value = -w * (REDUCTION == 0 ? cast<C>(grad[at]) : REDUCTION == 1 ? cast<C>(*grad) / cast<C>(*total) : cast<C>(*grad));
    }
    out[i] = cast<T>(value);
}

// Cross entropy of rows in one reading: loss and log-sum of exponentials by row; in: (rows, classes).
template <class T, class Index>
__global__ void cross_entropy_rows(i64 classes, i64 ignored, double smoothing, Faults faults, const T* in, const Index* target, Compute<T>* loss,
                                   Compute<T>* log_sums) {
    typedef Compute<T> C;
    constexpr int V = 16 / sizeof(T);
    __shared__ C parts[32];
    i64 row = blockIdx.x;
    in += row * classes;
    bool packs = classes % V == 0;
    C most = -(C)MT_INFINITY, sum = 0, plain = 0;
    // each thread keeps its own maximum and the sum of exponentials relative to it
    for (i64 i = (i64)threadIdx.x * V; i < classes; i += (i64)blockDim.x * V) {
        C x[V], high = -(C)MT_INFINITY;
        if (packs) {
            Pack<T, V> p = load_pack<V>(in + i);
#pragma unroll
            for (int k = 0; k < V; k++) x[k] = cast<C>(p.v[k]);
        } else {
#pragma unroll
            for (int k = 0; k < V; k++) x[k] = i + k < classes ? cast<C>(in[i + k]) : -(C)MT_INFINITY;
        }
#pragma unroll
        for (int k = 0; k < V; k++) { high = Max::of(high, x[k]); if (smoothing != 0 && i + k < classes) plain += x[k]; }
        if (!(high <= most)) { sum *= exp(most - high); most = high; }
        if (most != -(C)MT_INFINITY) {
#pragma unroll
            for (int k = 0; k < V; k++) sum += exp(x[k] - most);
        }
    }
    C top = over_block<Max>(most, parts);
    sum = over_block<Add>(most == -(C)MT_INFINITY ? (C)0 : sum * exp(most - top), parts);
    if (smoothing != 0) plain = over_block<Add>(plain, parts);
    if (threadIdx.x) return;
    C log_sum = top + log(sum);
    i64 t = target[row];
    bool counts = t != ignored && in_bounds(t, classes, faults);
    C nll = counts ? log_sum - cast<C>(in[t]) : (C)0, smooth = counts ? log_sum - plain / (C)classes : (C)0;
    loss[row] = smoothing != 0 ? ((C)1 - (C)smoothing) * nll + (C)smoothing * smooth : nll;
    log_sums[row] = log_sum;
}
// The gradient of cross_entropy_rows for one factor of all rows (sum or mean: `*grad` times `scale`).
template <class T, class Index>
__global__ void cross_entropy_backward(i64 rows, i64 classes, i64 ignored, double smoothing, const Compute<T>* grad, const Compute<T>* count, const T* in,
                                       const Index* target, const Compute<T>* log_sums, T* out) {
    typedef Compute<T> C;
    i64 row = blockIdx.x, t = target[row];
    C factor = t == ignored ? (C)0 : *grad / (count ? *count : (C)1), log_sum = log_sums[row];
    for (i64 i = threadIdx.x; i < classes; i += blockDim.x) {
        C p = exp(cast<C>(in[row * classes + i]) - log_sum) - (C)smoothing / (C)classes - (i == t ? (C)1 - (C)smoothing : (C)0);
        out[row * classes + i] = cast<T>(t == ignored ? (C)0 : factor * p);
    }
}
