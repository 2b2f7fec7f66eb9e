// Fourier transforms of as many sequences at once as a vector has lanes: by Stockham's way, with radices 2 to 5.
#include <algorithm>

#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"

MT_NAMESPACE {
namespace {

// Element k of a sequence: real parts of all lanes, then imaginary parts.
struct Complex {
    Vector re, im;
};

MT_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
MT_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
MT_INLINE Complex operator*(Complex a, float number) { return {a.re * number, a.im * number}; }
// -i a.
MT_INLINE Complex turned(Complex a) { return {a.im, -a.re}; }
MT_INLINE Complex by(Complex a, float re, float im) { return {a.re * re - a.im * im, a.re * im + a.im * re}; }

template <int RADIX>
MT_INLINE void butterfly(Complex* a) {
    if constexpr (RADIX == 2) {
        const Complex sum = a[0] + a[1];
        a[1] = a[0] - a[1];
        a[0] = sum;
    } else if constexpr (RADIX == 3) {
        constexpr float SINE = 0.86602540378443864676f;
        const Complex sum = a[1] + a[2], rest = a[0] - sum * 0.5f, side = turned(a[1] - a[2]) * SINE;
        a[0] = a[0] + sum;
        a[1] = rest + side;
        a[2] = rest - side;
    } else if constexpr (RADIX == 4) {
        const Complex even = a[0] + a[2], difference = a[0] - a[2], odd = a[1] + a[3], side = turned(a[1] - a[3]);
        a[0] = even + odd;
        a[1] = difference + side;
        a[2] = even - odd;
        a[3] = difference - side;
    } else {
        constexpr float C1 = 0.30901699437494742410f, C2 = -0.80901699437494742410f;
        constexpr float S1 = 0.95105651629515357212f, S2 = 0.58778525229247312917f;
        const Complex outer = a[1] + a[4], inner = a[2] + a[3], across = a[1] - a[4], within = a[2] - a[3];
        const Complex one = a[0] + outer * C1 + inner * C2, two = a[0] + outer * C2 + inner * C1;
        const Complex first = turned(across * S1 + within * S2), second = turned(across * S2 - within * S1);
        a[0] = a[0] + outer + inner;
        a[1] = one + first;
        a[2] = two + second;
        a[3] = two - second;
        a[4] = one - first;
    }
}

// One stage: sequences of m * RADIX, `stride` of which are interleaved.
template <int RADIX>
MT_FLAT void stage(const Complex* x, Complex* y, int64_t m, int64_t stride, const float* twiddles) {
    for (int64_t p = 0; p < m; ++p, twiddles += 2 * (RADIX - 1))
        for (int64_t q = 0; q < stride; ++q) {
            Complex a[RADIX];
#pragma GCC unroll 8
            for (int k = 0; k < RADIX; ++k) a[k] = x[q + stride * (p + m * k)];
            butterfly<RADIX>(a);
            Complex* to = y + q + stride * RADIX * p;
            to[0] = a[0];
#pragma GCC unroll 8
            for (int t = 1; t < RADIX; ++t)
                to[stride * t] = p == 0 ? a[t] : by(a[t], twiddles[2 * t - 2], twiddles[2 * t - 1]);
        }
}

// Transforms `x`; the result stands there or in `y`.
Complex* transform(const FftPlan& plan, Complex* x, Complex* y) {
    int64_t rest = plan.n, stride = 1;
    const float* twiddles = plan.twiddles;
    for (int64_t f = 0; f < plan.stages; ++f) {
        const int64_t radix = plan.factors[f], m = rest / radix;
        if (radix == 2) stage<2>(x, y, m, stride, twiddles);
        else if (radix == 3) stage<3>(x, y, m, stride, twiddles);
        else if (radix == 4) stage<4>(x, y, m, stride, twiddles);
        else stage<5>(x, y, m, stride, twiddles);
        twiddles += 2 * (radix - 1) * m;
        rest = m;
        stride *= radix;
        std::swap(x, y);
    }
    return x;
}

// Complex numbers k < n of each lane, whose parts lie `part` apart; their parts exchanged where that is asked for.
void read(const float* x, const FftLanes& lanes, int64_t n, int64_t part, bool exchanged, Complex* to) {
    float re[WIDTH], im[WIDTH];
    for (int64_t k = 0; k < n; ++k) {
        const float* from = x + k * lanes.step;
        for (int j = 0; j < WIDTH; ++j) {
            re[j] = from[lanes.at[j]];
            im[j] = from[lanes.at[j] + part];
        }
        to[k] = exchanged ? Complex{load(im), load(re)} : Complex{load(re), load(im)};
    }
}

MT_INLINE void write(Complex value, float* y, const FftLanes& lanes, int64_t k, int64_t part, float scale) {
    float re[WIDTH], im[WIDTH];
    *reinterpret_cast<Vector*>(re) = value.re * scale;
    *reinterpret_cast<Vector*>(im) = value.im * scale;
    float* to = y + k * lanes.step;
    for (int64_t j = 0; j < lanes.count; ++j) {
        to[lanes.at[j]] = re[j];
        to[lanes.at[j] + part] = im[j];
    }
}

void complex_lanes(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to, bool forward,
                   float scale, float* space) {
    Complex *one = reinterpret_cast<Complex*>(space), *other = one + plan.n;
    read(x, from, plan.n, 1, !forward, one);
    const Complex* made = transform(plan, one, other);
    // The inverse exchanges real and imaginary parts before and after.
    for (int64_t k = 0; k < plan.n; ++k)
        write(forward ? made[k] : Complex{made[k].im, made[k].re}, y, to, k, 1, scale);
}

// 2 n real numbers, taken as n complex ones -> the first n + 1 of their transform.
void real_lanes(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to, int64_t inner,
                float scale, float* space) {
    const int64_t n = plan.n;
    Complex *one = reinterpret_cast<Complex*>(space), *other = one + n;
    read(x, from, n, inner, false, one);
    const Complex* made = transform(plan, one, other);
    for (int64_t k = 0; k <= n; ++k) {
        const Complex a = made[k == n ? 0 : k], b = made[k == 0 ? 0 : n - k];
        const Complex even = {(a.re + b.re) * 0.5f, (a.im - b.im) * 0.5f};
        const Complex odd = {(a.im + b.im) * 0.5f, (b.re - a.re) * 0.5f};
        Complex value = even + by(odd, plan.halves[2 * k], plan.halves[2 * k + 1]);
        if (k == 0 || k == n) value = {k == 0 ? a.re + a.im : a.re - a.im, Vector{}};
        write(value, y, to, k, 1, scale);
    }
}

// The first n + 1 of a transform -> the 2 n real numbers that it is of, times 2 n.
void lanes_to_real(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to, int64_t inner,
                   float scale, float* space) {
    const int64_t n = plan.n;
    Complex *given = reinterpret_cast<Complex*>(space), *one = given + n + 1, *other = one + n;
    read(x, from, n + 1, 1, false, given);
    given[0].im = given[n].im = Vector{};
    for (int64_t k = 0; k < n; ++k) {
        const Complex a = given[k], b = {given[n - k].re, -given[n - k].im};
        const Complex side = by(a - b, plan.halves[2 * k], -plan.halves[2 * k + 1]);
        const Complex value = {a.re + b.re - side.im, a.im + b.im + side.re};
        one[k] = {value.im, value.re};
    }
    const Complex* made = transform(plan, one, other);
    for (int64_t k = 0; k < n; ++k) write({made[k].im, made[k].re}, y, to, k, inner, scale);
}

// Numbers of scratch that transforms of n need.
int64_t room(int64_t n) { return (3 * n + 1) * 2 * WIDTH; }

}  // namespace

extern const FftTable fft;
const FftTable fft = {WIDTH, room, complex_lanes, real_lanes, lanes_to_real};

}  // namespace
