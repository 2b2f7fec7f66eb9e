// Steps of optimizers over many tensors in one launch.

#define MAX_TENSORS 40
#define CHUNK 4096
// Lists of tensors: address[l][t] is that of list l's tensor t; blocks of tensor t begin at first[t], CHUNK elements each.
template <int LISTS> struct Tensors { i64 count; void* address[LISTS][MAX_TENSORS]; i64 size[MAX_TENSORS]; i64 first[MAX_TENSORS + 1]; };
struct Piece { int tensor; i64 begin, end; };
template <int LISTS> DEVICE Piece piece_of(const Tensors<LISTS>& tensors) {
    int low = 0, high = (int)tensors.count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (tensors.first[middle] <= blockIdx.x) low = middle;
        else high = middle - 1;
    }
    i64 begin = (blockIdx.x - tensors.first[low]) * CHUNK, size = tensors.size[low];
    return {low, begin, begin + CHUNK < size ? begin + CHUNK : size};
}

struct SgdNumbers { double rate, momentum, dampening, decay; i64 nesterov, maximize, first; };
// Lists: parameters, gradients, momentum buffers (only with MOMENTUM). `first`: buffers hold nothing yet.
template <class T, bool MOMENTUM>
__global__ void sgd(Tensors<3> tensors, SgdNumbers n, const float* rate, const float* grad_scale, const float* found_inf) {
    typedef Compute<T> C;
    if (found_inf && *found_inf == 1.0f) return;
    Piece piece = piece_of(tensors);
    T* parameters = (T*)tensors.address[0][piece.tensor];
    T* gradients = (T*)tensors.address[1][piece.tensor];
    T* buffers = MOMENTUM ? (T*)tensors.address[2][piece.tensor] : nullptr;
    C lr = rate ? (C)*rate : (C)n.rate;
    for (i64 i = piece.begin + threadIdx.x; i < piece.end; i += blockDim.x) {
        C p = cast<C>(parameters[i]), g = cast<C>(gradients[i]);
        if (grad_scale) { g /= (C)*grad_scale; gradients[i] = cast<T>(g); }
        if (n.maximize) g = -g;
        if (n.decay != 0) g += (C)n.decay * p;
        if (MOMENTUM) {
            C b = n.first ? g : (C)n.momentum * cast<C>(buffers[i]) + ((C)1 - (C)n.dampening) * g;
            buffers[i] = cast<T>(b);
            g = n.nesterov ? g + (C)n.momentum * b : b;
        }
        parameters[i] = cast<T>(p - lr * g);
    }
}

struct AdamNumbers { double rate, beta1, beta2, decay, eps; i64 maximize; };
// Lists: parameters, gradients, first moments, second moments, largest second moments (only with AMSGRAD), steps
// (float scalars, already counted up). DECOUPLED: the decay of AdamW (Loshchilov and Hutter, 2019).
template <class T, bool DECOUPLED, bool AMSGRAD>
__global__ void adam(Tensors<6> tensors, AdamNumbers n, const float* rate, const float* grad_scale, const float* found_inf) {
    typedef Compute<T> C;
    if (found_inf && *found_inf == 1.0f) return;
    Piece piece = piece_of(tensors);
    T* parameters = (T*)tensors.address[0][piece.tensor];
    T* gradients = (T*)tensors.address[1][piece.tensor];
    T* first = (T*)tensors.address[2][piece.tensor];
    T* second = (T*)tensors.address[3][piece.tensor];
    T* largest = AMSGRAD ? (T*)tensors.address[4][piece.tensor] : nullptr;
    double step = *(const float*)tensors.address[5][piece.tensor], lr = rate ? *rate : n.rate;
    C step_size = (C)(lr / (1 - pow(n.beta1, step))), root = (C)sqrt(1 - pow(n.beta2, step));
    C beta1 = (C)n.beta1, beta2 = (C)n.beta2, rest1 = (C)(1 - n.beta1), rest2 = (C)(1 - n.beta2);
    for (i64 i = piece.begin + threadIdx.x; i < piece.end; i += blockDim.x) {
        C p = cast<C>(parameters[i]), g = cast<C>(gradients[i]);
        if (grad_scale) { g /= (C)*grad_scale; gradients[i] = cast<T>(g); }
        if (n.maximize) g = -g;
        if (n.decay != 0) {
            if (DECOUPLED) p -= (C)(lr * n.decay) * p;
            else g += (C)n.decay * p;
        }
        C a = beta1 * cast<C>(first[i]) + rest1 * g, b = beta2 * cast<C>(second[i]) + rest2 * g * g, most = b;
        first[i] = cast<T>(a);
        second[i] = cast<T>(b);
        if (AMSGRAD) { most = Max::of(cast<C>(largest[i]), b); largest[i] = cast<T>(most); }
        parameters[i] = cast<T>(p - step_size * a / (sqrt(most) / root + (C)n.eps));
    }
}

// foreach operators: out = f(a, b) over lists (out, a, b); out may be a. The functors take a number of the call.
struct list_add { template <class C> static DEVICE C of(C a, C b, C n) { return a + n * b; } };
struct list_mul { template <class C> static DEVICE C of(C a, C b, C) { return a * b; } };
struct list_div { template <class C> static DEVICE C of(C a, C b, C) { return a / b; } };
struct list_lerp { template <class C> static DEVICE C of(C a, C b, C n) { return n * n < (C)0.25 ? a + n * (b - a) : b - (b - a) * ((C)1 - n); } };
struct list_add_number { template <class C> static DEVICE C of(C a, C, C n) { return a + n; } };
struct list_mul_number { template <class C> static DEVICE C of(C a, C, C n) { return a * n; } };
struct list_div_number { template <class C> static DEVICE C of(C a, C, C n) { return a / n; } };
struct list_sqrt { template <class C> static DEVICE C of(C a, C, C) { return sqrt(a); } };
struct list_neg { template <class C> static DEVICE C of(C a, C, C) { return -a; } };
struct list_copy { template <class C> static DEVICE C of(C a, C, C) { return a; } };
template <class Op, class T, bool TWO>
__global__ void for_each(Tensors<3> tensors, double number) {
    typedef Compute<T> C;
    Piece piece = piece_of(tensors);
    T* out = (T*)tensors.address[0][piece.tensor];
    const T* a = (const T*)tensors.address[1][piece.tensor];
    const T* b = TWO ? (const T*)tensors.address[2][piece.tensor] : nullptr;
    for (i64 i = piece.begin + threadIdx.x; i < piece.end; i += blockDim.x)
        out[i] = cast<T>(Op::template of<C>(cast<C>(a[i]), TWO ? cast<C>(b[i]) : (C)0, (C)number));
}
