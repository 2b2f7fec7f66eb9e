// Copies between arrays of any strides.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

struct Copy {
    int ndim = 0;
    int64_t itemsize = 0;
    int64_t shape[NPY_MAXDIMS], to[NPY_MAXDIMS], from[NPY_MAXDIMS];
    char* target;
    const char* source;
};

// Lowest address of an array's elements, and the one behind the highest.
void bounds(PyArrayObject* array, const char** low, const char** high) {
    *low = *high = PyArray_BYTES(array);
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
        const int64_t reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        (reach < 0 ? *low : *high) += reach;
    }
    *high += PyArray_ITEMSIZE(array);
}

bool may_overlap(PyArrayObject* a, PyArrayObject* b) {
    const char *a_low, *a_high, *b_low, *b_high;
    bounds(a, &a_low, &a_high);
    bounds(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

// Dimensions in the order of the target's strides, those of size 1 left out, neighbours joined where both allow it.
Copy planned(PyArrayObject* target, PyArrayObject* source) {
    Copy copy;
    copy.itemsize = PyArray_ITEMSIZE(target);
    copy.target = PyArray_BYTES(target);
    copy.source = PyArray_BYTES(source);
    int order[NPY_MAXDIMS], count = 0;
    for (int d = 0; d < PyArray_NDIM(target); ++d)
        if (PyArray_DIM(target, d) != 1) order[count++] = d;
    std::stable_sort(order, order + count, [target](int a, int b) {
        return std::abs(PyArray_STRIDE(target, a)) > std::abs(PyArray_STRIDE(target, b));
    });
    for (int i = 0; i < count; ++i) {
        const int64_t n = PyArray_DIM(target, order[i]), to = PyArray_STRIDE(target, order[i]),
                      from = PyArray_STRIDE(source, order[i]);
        const int last = copy.ndim - 1;
        if (last >= 0 && copy.to[last] == to * n && copy.from[last] == from * n) {
            copy.shape[last] *= n;
            copy.to[last] = to;
            copy.from[last] = from;
        } else {
            copy.shape[copy.ndim] = n;
            copy.to[copy.ndim] = to;
            copy.from[copy.ndim++] = from;
        }
    }
    return copy;
}

// Elements of a tile along either dimension: the lines that it reads and writes stay in the first cache.
constexpr int64_t TILE = 16;

template <class T>
void rectangle(char* to, int64_t to_row, int64_t to_column, const char* from, int64_t from_row, int64_t from_column,
               int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < columns; j += TILE) {
            const int64_t i_end = std::min(i + TILE, rows), j_end = std::min(j + TILE, columns);
            for (int64_t a = i; a < i_end; ++a)
                for (int64_t b = j; b < j_end; ++b)
                    std::memcpy(to + a * to_row + b * to_column, from + a * from_row + b * from_column, sizeof(T));
        }
}

// The transposition that fits a rectangle whose rows lie side by side in the source, whose columns do in the target.
auto transposition(int64_t itemsize) {
    const auto& known = kernels().view->transpose;
    return itemsize == 2 ? known[0] : itemsize == 4 ? known[1] : itemsize == 8 ? known[2] : nullptr;
}

struct Sixteen {
    uint64_t parts[2];
};

using Rectangle = decltype(&rectangle<uint8_t>);

Rectangle rectangle_of(int64_t itemsize) {
    switch (itemsize) {
        case 1: return rectangle<uint8_t>;
        case 2: return rectangle<uint16_t>;
        case 4: return rectangle<uint32_t>;
        case 8: return rectangle<uint64_t>;
        case 16: return rectangle<Sixteen>;
        default: return nullptr;
    }
}

// Rows of a rectangle that one thread takes at a time.
constexpr int64_t ROWS = 64;
// Rows of memory shorter than this are NumPy's.
constexpr int64_t SHORT = 64;

bool run(const Copy& copy) {
    const int last = copy.ndim - 1;
    const bool in_rows = copy.ndim == 0 || (copy.to[last] == copy.itemsize && copy.from[last] == copy.itemsize);
    const int64_t columns = copy.ndim == 0 ? 1 : copy.shape[last];
    if (in_rows && copy.ndim > 1 && columns * copy.itemsize < SHORT) return false;
    // The dimension that is taken beside the last: along it the source is closest.
    int beside = -1;
    for (int d = 0; d < last && !in_rows; ++d)
        if (beside < 0 || std::abs(copy.from[d]) <= std::abs(copy.from[beside])) beside = d;
    const Rectangle f = rectangle_of(copy.itemsize);
    const bool turned = beside >= 0 && copy.from[beside] == copy.itemsize && copy.to[last] == copy.itemsize;
    const auto transpose = turned ? transposition(copy.itemsize) : nullptr;
    if (!in_rows && f == nullptr) return false;
    const int64_t rows = beside < 0 ? 1 : copy.shape[beside], pieces = (rows + ROWS - 1) / ROWS;
    int64_t units = pieces;
    for (int d = 0; d < last; ++d)
        if (d != beside) units *= copy.shape[d];
    if (in_rows && units == 1) {  // in one piece
        const int64_t bytes = columns * copy.itemsize;
        parallel(bytes, GRAIN * 4, [&](int64_t begin, int64_t end) {
            std::memcpy(copy.target + begin, copy.source + begin, static_cast<size_t>(end - begin));
        });
        return true;
    }
    const int64_t each = std::min(rows, ROWS) * columns;
    parallel(units, each >= GRAIN ? 1 : GRAIN / each + 1, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
            char* to = copy.target;
            const char* from = copy.source;
            int64_t rest = unit / pieces;
            const int64_t start = unit % pieces * ROWS;
            for (int d = last - 1; d >= 0; --d) {
                if (d == beside) continue;
                const int64_t at = rest % copy.shape[d];
                rest /= copy.shape[d];
                to += at * copy.to[d];
                from += at * copy.from[d];
            }
            if (in_rows)
                std::memcpy(to, from, static_cast<size_t>(columns * copy.itemsize));
            else if (beside < 0)
                f(to, 0, copy.to[last], from, 0, copy.from[last], 1, columns);
            else if (transpose != nullptr)
                transpose(to + start * copy.to[beside], copy.to[beside], from + start * copy.from[beside], copy.from[last],
                          std::min(ROWS, rows - start), columns);
            else
                f(to + start * copy.to[beside], copy.to[beside], copy.to[last], from + start * copy.from[beside],
                  copy.from[beside], copy.from[last], std::min(ROWS, rows - start), columns);
        }
    });
    return true;
}

// copy(target, source) -> whether it was done: not where memory is shared, or NumPy is as quick.
PyObject* copy(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "copy")) return refused(names, "copy");
    PyArrayObject* target = array_of(arguments[0], "copy", 1);
    PyArrayObject* source = target == nullptr ? nullptr : array_of(arguments[1], "copy", 2);
    if (source == nullptr) return nullptr;
    PyArray_Descr* descr = PyArray_DESCR(target);
    if (!PyArray_SAMESHAPE(target, source) || !PyArray_EquivTypes(descr, PyArray_DESCR(source)) ||
        PyDataType_REFCHK(descr) || !PyArray_ISWRITEABLE(target)) {
        PyErr_SetString(PyExc_ValueError, "copy: the arrays must have one shape and one dtype of plain elements");
        return nullptr;
    }
    if (PyArray_SIZE(target) == 0) Py_RETURN_TRUE;
    if (may_overlap(target, source)) Py_RETURN_FALSE;
    for (int d = 0; d < PyArray_NDIM(target); ++d)
        if (PyArray_STRIDE(target, d) == 0 && PyArray_DIM(target, d) != 1) Py_RETURN_FALSE;
    const Copy plan = planned(target, source);
    bool done;
    {
        Released released(PyArray_SIZE(target) > GRAIN);
        done = run(plan);
    }
    return PyBool_FromLong(done);
}

}  // namespace

PyMethodDef view_methods[] = {
    method("copy", copy, "copy(target, source) -> whether it was done"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
