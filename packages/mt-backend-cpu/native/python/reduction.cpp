// Reductions of row-major arrays along dimensions that lie side by side.
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Sums over everything are cut here, whatever the number of threads.
constexpr int64_t PIECE = 8 * GRAIN;

struct Along {
    int64_t outer = 1, length = 1, inner = 1;
    PyObject* result = nullptr;  // a new array
};

// What a call reduces, from `dims`, which count from the front and rise by one, or None for all.
bool plan(PyArrayObject* x, PyObject* dims, bool keepdim, const char* function, Along* along) {
    const int ndim = PyArray_NDIM(x);
    int first = 0, last = ndim;
    if (dims != Py_None) {
        if (!PyTuple_Check(dims) && !PyList_Check(dims)) {
            PyErr_Format(PyExc_TypeError, "%s takes dimensions in a tuple or a list", function);
            return false;
        }
        const Py_ssize_t count = Py_SIZE(dims);
        PyObject** items = PySequence_Fast_ITEMS(dims);
        for (Py_ssize_t i = 0; i < count; ++i) {
            const long long dim = PyLong_AsLongLong(items[i]);
            if (dim == -1 && PyErr_Occurred()) return false;
            if (i == 0) first = static_cast<int>(dim);
            if (dim < 0 || dim >= ndim || dim != first + i) {
                PyErr_Format(PyExc_ValueError, "%s: dimensions that do not lie side by side", function);
                return false;
            }
        }
        last = first + static_cast<int>(count);
    }
    npy_intp shape[NPY_MAXDIMS];
    int kept = 0;
    for (int d = 0; d < ndim; ++d) {
        const npy_intp size = PyArray_DIM(x, d);
        if (d < first) along->outer *= size;
        if (d >= first && d < last) along->length *= size;
        if (d >= last) along->inner *= size;
        if (d < first || d >= last)
            shape[kept++] = size;
        else if (keepdim)
            shape[kept++] = 1;
    }
    PyArray_Descr* descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    along->result = new_of(descr, kept, shape);
    return along->result != nullptr;
}

template <class F>
void divide(const Along& along, F f) {
    const int64_t each = along.length * along.inner;
    Released released(along.outer * each > GRAIN);
    parallel(along.outer, each >= GRAIN ? 1 : GRAIN / each + 1, f);
}

// f(x, dims, keepdim)
bool arguments_of(PyObject* const* arguments, Py_ssize_t count, PyObject* names, const char* function,
                  PyArrayObject** x, Along* along) {
    if (names != nullptr || !counted(count, 3, function)) {
        refused(names, function);
        return false;
    }
    *x = float_rows(arguments[0], function, 1);
    if (*x == nullptr) return false;
    const int keepdim = PyObject_IsTrue(arguments[2]);
    return keepdim >= 0 && plan(*x, arguments[1], keepdim != 0, function, along);
}

template <bool Mean>
PyObject* sums(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyArrayObject* x;
    Along along;
    if (!arguments_of(arguments, count, names, Mean ? "mean" : "sum", &x, &along)) return nullptr;
    Reference result(along.result);
    if (PyArray_SIZE(result.array()) == 0) return result.release();
    const float divisor = Mean ? static_cast<float>(along.length) : 1.f;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const ReductionTable* table = kernels().reduction;
    const int64_t n = along.length, inner = along.inner;
    if (along.outer == 1 && inner == 1 && n > PIECE) {
        std::vector<float> parts(static_cast<size_t>((n + PIECE - 1) / PIECE));
        Released released(true);
        parallel(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                parts[static_cast<size_t>(i)] =
                    table->sum_all(from + i * PIECE, n - i * PIECE < PIECE ? n - i * PIECE : PIECE);
        });
        *to = table->sum_all(parts.data(), static_cast<int64_t>(parts.size())) / divisor;
        return result.release();
    }
    if (n == 0) {
        for (int64_t i = 0; i < along.outer * inner; ++i) to[i] = 0.f / divisor;
        return result.release();
    }
    divide(along, [=](int64_t begin, int64_t end) {
        table->sum(from + begin * n * inner, to + begin * inner, end - begin, n, inner, divisor);
    });
    return result.release();
}

template <auto Member>
PyObject* extremes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyArrayObject* x;
    Along along;
    if (!arguments_of(arguments, count, names, "this reduction", &x, &along)) return nullptr;
    Reference result(along.result);
    if (PyArray_SIZE(result.array()) == 0) return result.release();
    if (along.length == 0) {
        PyErr_SetString(PyExc_ValueError, "there is no largest or smallest of no elements");
        return nullptr;
    }
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const auto f = kernels().reduction->*Member;
    const int64_t n = along.length, inner = along.inner;
    divide(along, [=](int64_t begin, int64_t end) {
        f(from + begin * n * inner, to + begin * inner, end - begin, n, inner);
    });
    return result.release();
}

}  // namespace

PyMethodDef reduction_methods[] = {
    method("sum", sums<false>, "sum(x, dims, keepdim)"),
    method("mean", sums<true>, "mean(x, dims, keepdim)"),
    method("amax", extremes<&ReductionTable::amax>, "amax(x, dims, keepdim)"),
    method("amin", extremes<&ReductionTable::amin>, "amin(x, dims, keepdim)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
