// One output element from one element of each operand: a table of functors, and two kernels that run them.
//
// A functor's `of` takes the operands in the compute type C and the numbers of the call (alpha, bounds). K is the type
// that operands are promoted to: an int64 beside a bfloat16 is rounded to bfloat16 first, then computed in float.

template <class C> struct Numbers { C v[4]; };

// ---- one operand --------------------------------------------------------------------------------------------------

#define UNARY(NAME, ...) \
    struct NAME { template <class C> static DEVICE C of(C x, const C* n) { (void)n; return __VA_ARGS__; } };
#define TEST(NAME, ...) \
    struct NAME { template <class C> static DEVICE bool of(C x, const C* n) { (void)n; return __VA_ARGS__; } };

UNARY(copy, x)
UNARY(neg, -x)
UNARY(abs_, x < (C)0 ? -x : x == (C)0 ? (C)0 : x)
UNARY(sgn, (C)((x > (C)0) - (x < (C)0)))
UNARY(square, x * x)
UNARY(reciprocal, (C)1 / x)
UNARY(sqrt_, sqrt(x))
UNARY(rsqrt_, rsqrt(x))
UNARY(rsqrt_of_sum, rsqrt(x + n[0]))
UNARY(exp_, exp(x))
UNARY(exp2_, exp2(x))
UNARY(expm1_, expm1(x))
UNARY(log_, log(x))
UNARY(log2_, log2(x))
UNARY(log10_, log10(x))
UNARY(log1p_, log1p(x))
UNARY(sin_, sin(x))
UNARY(cos_, cos(x))
UNARY(tan_, tan(x))
UNARY(asin_, asin(x))
UNARY(acos_, acos(x))
UNARY(atan_, atan(x))
UNARY(sinh_, sinh(x))
UNARY(cosh_, cosh(x))
UNARY(tanh_, tanh(x))
UNARY(asinh_, asinh(x))
UNARY(acosh_, acosh(x))
UNARY(atanh_, atanh(x))
UNARY(erf_, erf(x))
UNARY(erfc_, erfc(x))
UNARY(lgamma_, lgamma(x))
UNARY(floor_, floor(x))
UNARY(ceil_, ceil(x))
UNARY(round_, rint(x))
UNARY(trunc_, trunc(x))
UNARY(frac_, x - trunc(x))
UNARY(sigmoid, (C)1 / ((C)1 + exp(-x)))
UNARY(silu, x / ((C)1 + exp(-x)))
UNARY(relu, x != x ? x : x > (C)0 ? x : (C)0)
UNARY(softplus, x * n[0] > n[1] ? x : log1p(exp(x * n[0])) / n[0])
UNARY(leaky_relu, x > (C)0 ? x : x * n[0])
UNARY(elu, x <= (C)0 ? expm1(x * n[2]) * n[0] * n[1] : x * n[1])
UNARY(hardtanh, x != x ? x : x < n[0] ? n[0] : x > n[1] ? n[1] : x)
UNARY(clamp_min, x != x ? x : x < n[0] ? n[0] : x)
UNARY(clamp_max, x != x ? x : x > n[0] ? n[0] : x)
UNARY(threshold_, x <= n[0] ? n[1] : x)
UNARY(gelu, x * (C)0.5 * ((C)1 + erf(x * (C)0.70710678118654752440)))
UNARY(bitwise_not, ~x)
TEST(logical_not, x == (C)0)
TEST(isnan_, x != x)
TEST(isinf_, x == (C)MT_INFINITY || x == -(C)MT_INFINITY)
TEST(isfinite_, x - x == (C)0)
TEST(to_bool, x != (C)0)

struct gelu_tanh {
    template <class C> static DEVICE C of(C x, const C*) {
        C inner = (C)0.79788456080286535588 * (x + (C)0.044715 * x * x * x);
        return (C)0.5 * x * ((C)1 + tanh(inner));
    }
};
struct mish {
    template <class C> static DEVICE C of(C x, const C*) { return x * tanh(log1p(exp(x))); }
};
struct hardsigmoid {
    template <class C> static DEVICE C of(C x, const C*) {
        C y = x + (C)3;
        y = y < (C)0 ? (C)0 : y > (C)6 ? (C)6 : y;
        return y / (C)6;
    }
};
struct hardswish {
    template <class C> static DEVICE C of(C x, const C* n) { return x * hardsigmoid::of(x, n); }
};

// ---- two operands -------------------------------------------------------------------------------------------------

#define BINARY(NAME, ...) \
    struct NAME { template <class C> static DEVICE C of(C a, C b, const C* n) { (void)n; return __VA_ARGS__; } };
#define COMPARE(NAME, ...) \
    struct NAME { template <class C> static DEVICE bool of(C a, C b, const C* n) { (void)n; return __VA_ARGS__; } };

BINARY(add, a + b)
BINARY(add_scaled, a + n[0] * b)
BINARY(mul_scaled, a * b * n[0])
BINARY(sub, a - b)
BINARY(sub_scaled, a - n[0] * b)
BINARY(rsub_scaled, b - n[0] * a)
BINARY(mul, a * b)
BINARY(divide, a / b)
BINARY(maximum, a != a ? a : b != b ? b : a > b ? a : b)
BINARY(minimum, a != a ? a : b != b ? b : a < b ? a : b)
BINARY(fmax_, a != a ? b : b != b ? a : a > b ? a : b)
BINARY(fmin_, a != a ? b : b != b ? a : a < b ? a : b)
BINARY(atan2_, atan2(a, b))
BINARY(hypot_, hypot(a, b))
BINARY(copysign_, copysign(a, b))
BINARY(nextafter_, nextafter(a, b))
BINARY(bitwise_and, a & b)
BINARY(bitwise_or, a | b)
BINARY(bitwise_xor, a ^ b)
BINARY(xlogy, b != b ? b : a == (C)0 ? (C)0 : a * log(b))
COMPARE(eq, a == b)
COMPARE(ne, a != b)
COMPARE(lt, a < b)
COMPARE(le, a <= b)
COMPARE(gt, a > b)
COMPARE(ge, a >= b)
COMPARE(logical_and, (a != (C)0) && (b != (C)0))
COMPARE(logical_or, (a != (C)0) || (b != (C)0))
COMPARE(logical_xor, (a != (C)0) != (b != (C)0))

template <class C> DEVICE C power(C a, C b) { return pow(a, b); }
template <class C> DEVICE C integer_power(C a, C b) {
    if (b < 0) return a == (C)1 ? (C)1 : a == (C)-1 ? (b % 2 ? (C)-1 : (C)1) : (C)0;
    C result = 1;
    for (; b; b >>= 1, a *= a) if (b & 1) result *= a;
    return result;
}
template <> DEVICE i64 power(i64 a, i64 b) { return integer_power(a, b); }
template <> DEVICE int power(int a, int b) { return integer_power(a, b); }
template <> DEVICE int16_t power(int16_t a, int16_t b) { return integer_power(a, b); }
template <> DEVICE int8_t power(int8_t a, int8_t b) { return integer_power(a, b); }
template <> DEVICE uint8_t power(uint8_t a, uint8_t b) { return integer_power(a, b); }
BINARY(pow_, power(a, b))

// Remainders and quotients: of a floating number by the C functions, of an integer by its operators.
template <class C, bool F> struct Quotients {  // integers
    static DEVICE C rest(C a, C b) { return b == (C)0 ? (C)0 : b == (C)-1 ? (C)0 : a % b; }
    static DEVICE C whole(C a, C b) { return b == (C)0 ? (C)0 : b == (C)-1 ? (C)(-a) : a / b; }
    static DEVICE C floored(C a, C b) { C q = whole(a, b); return rest(a, b) != 0 && ((a < 0) != (b < 0)) ? q - 1 : q; }
    static DEVICE C modulo(C a, C b) { C r = rest(a, b); return r != 0 && ((r < 0) != (b < 0)) ? r + b : r; }
};
template <class C> struct Quotients<C, true> {
    static DEVICE C rest(C a, C b) { return fmod(a, b); }
    static DEVICE C whole(C a, C b) { return trunc(a / b); }
    static DEVICE C modulo(C a, C b) { C r = fmod(a, b); return r != (C)0 && ((b < (C)0) != (r < (C)0)) ? r + b : r; }
    static DEVICE C floored(C a, C b) {
        if (b == (C)0) return a / b;
        C r = fmod(a, b), q = (a - r) / b;
        if (r != (C)0 && ((b < (C)0) != (r < (C)0))) q -= (C)1;
        if (q == (C)0) return copysign((C)0, a / b);
        C down = floor(q);
        return q - down > (C)0.5 ? down + (C)1 : down;
    }
};
#define QUOTIENT(NAME, METHOD) \
    struct NAME { template <class C> static DEVICE C of(C a, C b, const C*) { return Quotients<C, IsFloating<C>::value>::METHOD(a, b); } };
QUOTIENT(fmod_, rest)
QUOTIENT(remainder_, modulo)
QUOTIENT(floor_divide, floored)
QUOTIENT(trunc_divide, whole)

struct shift_left {
    template <class C> static DEVICE C of(C a, C b, const C*) { return b < 0 || b >= (C)(8 * sizeof(C)) ? (C)0 : (C)((u64)a << b); }
};
struct shift_right {
    template <class C> static DEVICE C of(C a, C b, const C*) {
        return b < 0 || b >= (C)(8 * sizeof(C)) ? (a < 0 ? (C)-1 : (C)0) : (C)(a >> b);
    }
};

// Gradients: the first operand is that of the output.
BINARY(sigmoid_backward, a * ((C)1 - b) * b)
BINARY(tanh_backward, a * ((C)1 - b * b))
BINARY(threshold_backward, b <= n[0] ? (C)0 : a)
BINARY(leaky_relu_backward, b > (C)0 ? a : a * n[0])
BINARY(hardtanh_backward, b <= n[0] || b >= n[1] ? (C)0 : a)
BINARY(hardswish_backward, b <= (C)-3 ? (C)0 : b < (C)3 ? a * (b / (C)3 + (C)0.5) : a)
BINARY(hardsigmoid_backward, b > (C)-3 && b < (C)3 ? a * (C)(1.0f / 6.0f) : (C)0)
struct silu_backward {
    template <class C> static DEVICE C of(C a, C b, const C*) {
        C s = (C)1 / ((C)1 + exp(-b));
        return a * s * ((C)1 + b * ((C)1 - s));
    }
};
struct softplus_backward {
    template <class C> static DEVICE C of(C a, C b, const C* n) {
        C z = exp(b * n[0]);
        return b * n[0] > n[1] ? a : a * z / (z + (C)1);
    }
};
struct gelu_backward {
    template <class C> static DEVICE C of(C a, C b, const C*) {
        C cdf = (C)0.5 * ((C)1 + erf(b * (C)0.70710678118654752440));
        C pdf = exp((C)-0.5 * b * b) * (C)0.39894228040143267794;
        return a * (cdf + b * pdf);
    }
};
struct gelu_tanh_backward {
    template <class C> static DEVICE C of(C a, C b, const C*) {
        const C k = (C)0.79788456080286535588, c = (C)0.044715;
        C t = tanh(k * (b + c * b * b * b));
        C left = (C)0.5 * ((C)1 + t);
        C right = (C)0.5 * b * ((C)1 - t * t) * k * ((C)1 + (C)3 * c * b * b);
        return a * (left + right);
    }
};

// ---- three operands -----------------------------------------------------------------------------------------------

#define TERNARY(NAME, ...) \
    struct NAME { template <class C> static DEVICE C of(C a, C b, C c, const C* n) { (void)n; return __VA_ARGS__; } };
TERNARY(where, a != (C)0 ? b : c)
TERNARY(addcmul, a + n[0] * b * c)
TERNARY(addcdiv, a + n[0] * (b / c))
TERNARY(lerp, c * c < (C)0.25 ? a + c * (b - a) : b - (b - a) * ((C)1 - c))
TERNARY(clamp, a != a ? a : b != b ? b : c != c ? c : (a < b ? b : a) > c ? c : a < b ? b : a)
BINARY(lerp_scalar, n[0] * n[0] < (C)0.25 ? a + n[0] * (b - a) : b - (b - a) * ((C)1 - n[0]))
BINARY(masked_fill, b != (C)0 ? n[0] : a)
BINARY(masked_scale, a * b * n[0])

// An operator with a number for one operand: its value is the last of the numbers.
template <class Op> struct number_right { template <class C> static DEVICE auto of(C a, const C* n) { return Op::of(a, n[3], n); } };
template <class Op> struct number_left { template <class C> static DEVICE auto of(C b, const C* n) { return Op::of(n[3], b, n); } };

// ---- kernels ------------------------------------------------------------------------------------------------------

template <class Op, class K, class Out, class... In>
DEVICE Out result_of(const Compute<K>* n, In... x) {
    typedef Compute<K> C;
    return cast<Out>(Op::template of<C>(cast<C>(cast<K>(x))..., n));
}
template <class Op, class K, int V, class Out, class... In>
DEVICE void pack_of(Out* out, const Compute<K>* n, const Pack<In, V>&... x) {
    Pack<Out, V> y;
#pragma unroll
    for (int i = 0; i < V; i++) y.v[i] = result_of<Op, K, Out>(n, x.v[i]...);
    store_pack(out, y);
}
// All operands alike, row by row: V elements of each in one access. A block takes 2 * V elements a thread.
template <class Op, class K, int V, class Out, class... In>
__global__ void pointwise(i64 count, Numbers<Compute<K>> numbers, Out* out, const In*... in) {
    i64 base = (i64)blockIdx.x * blockDim.x * (2 * V) + threadIdx.x * V, step = (i64)blockDim.x * V;
#pragma unroll
    for (int u = 0; u < 2; u++, base += step) {
        if (base + V <= count) {
            pack_of<Op, K, V, Out, In...>(out + base, numbers.v, load_pack<V>(in + base)...);
        } else {
            for (i64 i = base; i < count && i < base + V; i++) out[i] = result_of<Op, K, Out>(numbers.v, in[i]...);
        }
    }
}
// Any strides; the output's are the first of the layout.
template <int... I> struct Indices {};
template <int N, int... I> struct IndicesUpTo : IndicesUpTo<N - 1, N - 1, I...> {};
template <int... I> struct IndicesUpTo<0, I...> { typedef Indices<I...> type; };
template <class Op, class K, class Out, int N, int... I, class... In>
DEVICE void place(const i64 (&at)[N], Indices<I...>, const Compute<K>* n, Out* out, const In*... in) {
    out[at[0]] = result_of<Op, K, Out>(n, in[at[I + 1]]...);
}
template <class Op, class K, class Out, class... In>
__global__ void pointwise_strided(Layout<sizeof...(In) + 1> layout, i64 count, Numbers<Compute<K>> numbers, Out* out, const In*... in) {
    i64 index = (i64)blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int u = 0; u < 4; u++, index += blockDim.x) {
        if (index >= count) return;
        i64 at[sizeof...(In) + 1];
        offsets(layout, (u32)index, at);
        place<Op, K, Out>(at, typename IndicesUpTo<sizeof...(In)>::type(), numbers.v, out, in...);
    }
}
// A value in every element.
template <class Out, class K>
__global__ void fill(Layout<1> layout, i64 count, Numbers<Compute<K>> numbers, Out* out) {
    i64 index = (i64)blockIdx.x * blockDim.x * 4 + threadIdx.x;
    Out value = cast<Out>(cast<K>(numbers.v[0]));
    for (int u = 0; u < 4; u++, index += blockDim.x)
        if (index < count) out[offset_of(layout, (u32)index)] = value;
}
