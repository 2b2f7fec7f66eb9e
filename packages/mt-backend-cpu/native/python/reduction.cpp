// Reductions of row-major arrays along dimensions that lie side by side.
#include <algorithm>
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

// Columns that one thread takes by itself.
constexpr int64_t COLUMNS = 512;

// Calls `f(first row of the result, rows, first column, columns)` for parts of outer x inner.
template <class F>
void divide(const Along& along, F f) {
    const int64_t each = along.length * along.inner;
    Released released(along.outer * each > GRAIN);
    // Where there are few rows of results, and long ones, their columns are divided.
    if (along.outer < 16 && along.inner >= 2 * COLUMNS && each > GRAIN) {
        const int64_t pieces = (along.inner + COLUMNS - 1) / COLUMNS;
        parallel(along.outer * pieces, 1, [&](int64_t begin, int64_t end) {
            while (begin < end) {
                const int64_t outer = begin / pieces, first = begin % pieces, last = std::min(pieces, first + end - begin);
                f(outer, 1, first * COLUMNS, std::min(last * COLUMNS, along.inner) - first * COLUMNS);
                begin += last - first;
            }
        });
        return;
    }
    parallel(along.outer, each >= GRAIN ? 1 : GRAIN / each + 1,
             [&](int64_t begin, int64_t end) { f(begin, end - begin, 0, along.inner); });
}

// Sums along columns, in double precision, rows and columns of the result as `divide` gives them.
void sum_columns(const float* x, float* result, const Along& along, int64_t outer, int64_t rows, int64_t column,
                 int64_t columns, float divisor) {
    constexpr int64_t MOST = 1024;
    const auto add = kernels().reduction->add_rows;
    double sums[MOST];
    for (int64_t o = outer; o < outer + rows; ++o)
        for (int64_t first = column; first < column + columns; first += MOST) {
            const int64_t n = std::min(MOST, column + columns - first);
            std::fill_n(sums, n, 0.);
            add(x + o * along.length * along.inner + first, along.length, along.inner, n, sums);
            for (int64_t k = 0; k < n; ++k) result[o * along.inner + first + k] = static_cast<float>(sums[k]) / divisor;
        }
}

// Narrow tables of many rows, whose sums are made of parts that are cut alike whatever the number of threads.
bool is_tall(const Along& along) {
    return along.outer == 1 && along.inner < 2 * COLUMNS && along.length / 2 > PIECE / along.inner;
}

void sum_tall(const float* x, float* result, const Along& along, float divisor) {
    const int64_t each = PIECE / along.inner, parts = (along.length + each - 1) / each, n = along.inner;
    std::vector<double> sums(static_cast<size_t>(parts * n));
    const auto add = kernels().reduction->add_rows;
    Released released(true);
    parallel(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
            add(x + p * each * n, std::min(each, along.length - p * each), n, n, sums.data() + p * n);
    });
    for (int64_t p = 1; p < parts; ++p)
        for (int64_t k = 0; k < n; ++k) sums[static_cast<size_t>(k)] += sums[static_cast<size_t>(p * n + k)];
    for (int64_t k = 0; k < n; ++k) result[k] = static_cast<float>(sums[static_cast<size_t>(k)]) / divisor;
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
    if (inner > 1 && is_tall(along)) {
        sum_tall(from, to, along, divisor);
        return result.release();
    }
    divide(along, [&](int64_t outer, int64_t rows, int64_t column, int64_t columns) {
        if (inner == 1)
            table->sum(from + outer * n, to + outer, rows, n, divisor);
        else
            sum_columns(from, to, along, outer, rows, column, columns, divisor);
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
    divide(along, [=](int64_t outer, int64_t rows, int64_t column, int64_t columns) {
        f(from + outer * n * inner + column, to + outer * inner + column, rows, n, inner, columns);
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
