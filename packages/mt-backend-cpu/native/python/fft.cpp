// Fourier transforms along one dimension.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

enum class Kind { Complex, FromReal, ToReal };

// (factors, twiddles, halves or None) for n elements.
bool read_plan(PyObject* given, int64_t n, bool halved, FftPlan& plan) {
    PyObject *factors, *twiddles, *halves;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "OOO", &factors, &twiddles, &halves)) {
        PyErr_SetString(PyExc_TypeError, "fft: a plan must be (factors, twiddles, halves)");
        return false;
    }
    PyArrayObject *of = array_of(factors, "fft", 2), *roots = nullptr, *more = nullptr;
    if (of == nullptr || (roots = float_rows(twiddles, "fft", 2)) == nullptr) return false;
    if (halved && (more = float_rows(halves, "fft", 2)) == nullptr) return false;
    bool fits = PyArray_TYPE(of) == NPY_INT32 && PyArray_NDIM(of) == 1 && PyArray_ISCARRAY_RO(of);
    plan.factors = static_cast<const int32_t*>(PyArray_DATA(of));
    plan.stages = fits ? PyArray_SIZE(of) : 0;
    plan.n = n;
    int64_t rest = n, needed = 0;
    for (int64_t f = 0; f < plan.stages && fits; ++f) {
        const int64_t radix = plan.factors[f];
        fits = radix >= 2 && radix <= 5 && rest % radix == 0;
        if (fits) needed += 2 * (radix - 1) * (rest /= radix);
    }
    fits = fits && rest == 1 && PyArray_SIZE(roots) == needed && (!halved || PyArray_SIZE(more) == 2 * (n + 1));
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "fft: the plan is not of sequences of this size");
        return false;
    }
    plan.twiddles = static_cast<const float*>(PyArray_DATA(roots));
    plan.halves = halved ? static_cast<const float*>(PyArray_DATA(more)) : nullptr;
    return true;
}

struct Work {
    const float* x;
    float* y;
    // Sequences, of which `inner` lie beside one another; elements of one, before and after; numbers of an element.
    int64_t sequences, inner, before, after, wide_before, wide_after;
    float scale;
    bool forward;
};

FftLanes lanes_of(const Work& work, int64_t first, int64_t lanes, bool result) {
    const int64_t wide = result ? work.wide_after : work.wide_before, size = result ? work.after : work.before;
    FftLanes found;
    found.count = std::min(lanes, work.sequences - first);
    found.step = work.inner * wide;
    for (int64_t j = 0; j < MOST_LANES; ++j) {
        const int64_t at = first + std::min(j, found.count - 1);
        found.at[j] = (at / work.inner * size * work.inner + at % work.inner) * wide;
    }
    return found;
}

void run(const FftTable* table, const FftPlan& plan, const Work& work, Kind kind, int64_t first, float* space) {
    FftLanes from = lanes_of(work, first, table->lanes, false), to = lanes_of(work, first, table->lanes, true);
    if (kind == Kind::Complex) {
        table->complex_lanes(plan, work.x, work.y, from, to, work.forward, work.scale, space);
    } else if (kind == Kind::FromReal) {
        from.step *= 2;
        table->real_lanes(plan, work.x, work.y, from, to, work.inner, work.scale, space);
    } else {
        to.step *= 2;
        table->lanes_to_real(plan, work.x, work.y, from, to, work.inner, work.scale, space);
    }
}

// f(x, dimension, plan, forward, scale): `x` transformed along a dimension.
template <Kind KIND>
PyObject* transform(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "fft")) return refused(names, "fft");
    PyArrayObject* x = array_of(arguments[0], "fft", 1);
    if (x == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(x), type = KIND == Kind::FromReal ? NPY_FLOAT : NPY_CFLOAT;
    const long d = PyLong_AsLong(arguments[1]);
    if (d == -1 && PyErr_Occurred()) return nullptr;
    if (PyArray_TYPE(x) != type || !PyArray_ISNOTSWAPPED(x) || d < 0 || d >= ndim || PyArray_SIZE(x) == 0) {
        PyErr_Format(PyExc_TypeError, "fft takes an array of %s with elements, and one of its dimensions",
                     KIND == Kind::FromReal ? "float32" : "complex64");
        return nullptr;
    }
    npy_intp shape[NPY_MAXDIMS];
    Work work;
    work.inner = work.sequences = 1;
    for (int i = 0; i < ndim; ++i) {
        shape[i] = PyArray_DIM(x, i);
        if (i != d) work.sequences *= shape[i];
        if (i > d) work.inner *= shape[i];
    }
    work.before = shape[d];
    const int64_t n = KIND == Kind::FromReal ? work.before / 2 : KIND == Kind::ToReal ? work.before - 1 : work.before;
    work.after = KIND == Kind::FromReal ? n + 1 : KIND == Kind::ToReal ? 2 * n : n;
    work.wide_before = KIND == Kind::FromReal ? 1 : 2;
    work.wide_after = KIND == Kind::ToReal ? 1 : 2;
    FftPlan plan;
    if (n < 1 || (KIND == Kind::FromReal && work.before % 2 != 0)) {
        PyErr_SetString(PyExc_ValueError, "fft: real sequences must have an even number of elements");
        return nullptr;
    }
    if (!read_plan(arguments[2], n, KIND != Kind::Complex, plan)) return nullptr;
    work.forward = PyObject_IsTrue(arguments[3]) != 0;
    work.scale = static_cast<float>(PyFloat_AsDouble(arguments[4]));
    if (PyErr_Occurred()) return nullptr;
    Reference held(PyArray_FROM_OF(arguments[0], NPY_ARRAY_CARRAY_RO));
    if (!held) return nullptr;
    shape[d] = work.after;
    Reference result(new_array(ndim, shape, KIND == Kind::ToReal ? NPY_FLOAT : NPY_CFLOAT));
    if (!result) return nullptr;
    work.x = static_cast<const float*>(PyArray_DATA(held.array()));
    work.y = static_cast<float*>(PyArray_DATA(result.array()));
    const FftTable* table = kernels().fft;
    const int64_t groups = (work.sequences + table->lanes - 1) / table->lanes, cost = n * table->lanes * 4;
    std::atomic<bool> failed{false};
    {
        Released released(work.sequences > GRAIN / n);
        parallel(groups, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
            const std::unique_ptr<float[]> space(new (std::nothrow) float[static_cast<size_t>(table->room(n))]);
            if (!space) {
                failed = true;
                return;
            }
            for (int64_t g = begin; g < end; ++g) run(table, plan, work, KIND, g * table->lanes, space.get());
        });
    }
    return failed ? PyErr_NoMemory() : result.release();
}

}  // namespace

PyMethodDef fft_methods[] = {
    method("fft_complex", transform<Kind::Complex>, "fft_complex(x, dimension, plan, forward, scale) -> the same shape"),
    method("fft_from_real", transform<Kind::FromReal>, "fft_from_real(x, dimension, plan, True, scale) -> n / 2 + 1 each"),
    method("fft_to_real", transform<Kind::ToReal>, "fft_to_real(x, dimension, plan, False, scale) -> 2 (n - 1) each"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
