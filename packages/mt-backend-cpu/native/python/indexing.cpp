// Elements and rows that are looked up, written and added by index. Indices are checked before anything is written:
// where one is out of its range the functions do nothing, for their callers to say which.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

constexpr bool WRITES = true, READS = false;

// A row-major array, writable where it is written; null with an error.
PyArrayObject* row_major(PyObject* object, const char* function, int position, bool written) {
    PyArrayObject* array = array_of(object, function, position);
    if (array == nullptr) return nullptr;
    if ((written ? PyArray_ISCARRAY(array) : PyArray_ISCARRAY_RO(array)) && !PyDataType_REFCHK(PyArray_DESCR(array)))
        return array;
    PyErr_Format(PyExc_TypeError, "%s: argument %d must be a row-major array", function, position);
    return nullptr;
}

PyArrayObject* typed(PyObject* object, const char* function, int position, int type, bool written) {
    PyArrayObject* array = row_major(object, function, position, written);
    if (array == nullptr || PyArray_TYPE(array) == type) return array;
    PyErr_Format(PyExc_TypeError, "%s: argument %d has another dtype", function, position);
    return nullptr;
}

const int64_t* numbers_of(PyArrayObject* index) { return static_cast<const int64_t*>(PyArray_DATA(index)); }

bool within(PyArrayObject* index, int64_t size) {
    const int64_t* numbers = numbers_of(index);
    const int64_t n = PyArray_SIZE(index);
    const auto f = kernels().indexing->within;
    if (n <= 4 * GRAIN) return f(numbers, n, size);
    std::atomic<bool> all{true};
    Released released(true);
    parallel(n, 4 * GRAIN, [&](int64_t begin, int64_t end) {
        if (!f(numbers + begin, end - begin, size)) all.store(false, std::memory_order_relaxed);
    });
    return all.load(std::memory_order_relaxed);
}

bool dimension(PyObject* object, int ndim, const char* function, int* dim) {
    const long given = PyLong_AsLong(object);
    if (given == -1 && PyErr_Occurred()) return false;
    if (given < 0 || given >= ndim) {
        PyErr_Format(PyExc_ValueError, "%s: there is no dimension %ld", function, given);
        return false;
    }
    *dim = static_cast<int>(given);
    return true;
}

void mismatch(const char* function) {
    PyErr_Format(PyExc_ValueError, "%s: the shapes do not go together", function);
}

int64_t product(PyArrayObject* array, int begin, int end) {
    int64_t count = 1;
    for (int d = begin; d < end; ++d) count *= PyArray_DIM(array, d);
    return count;
}

// Rows, along one dimension

// Columns that one thread adds up by itself.
constexpr int64_t COLUMNS = 256;

// index_add(target, dim, index, source, alpha, skipped) -> whether all indices are in range; `skipped` rows are left out.
PyObject* index_add(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "index_add";
    if (names != nullptr || !counted(count, 6, name)) return refused(names, name);
    PyArrayObject* target = typed(arguments[0], name, 1, NPY_FLOAT, WRITES);
    PyArrayObject* index = target == nullptr ? nullptr : typed(arguments[2], name, 3, NPY_INT64, READS);
    PyArrayObject* source = index == nullptr ? nullptr : typed(arguments[3], name, 4, NPY_FLOAT, READS);
    int dim;
    if (source == nullptr || !dimension(arguments[1], PyArray_NDIM(target), name, &dim)) return nullptr;
    const float alpha = static_cast<float>(PyFloat_AsDouble(arguments[4]));
    const int64_t skipped = PyLong_AsLongLong(arguments[5]);
    if (PyErr_Occurred()) return nullptr;
    const int64_t outer = product(target, 0, dim), length = PyArray_DIM(target, dim),
                  inner = product(target, dim + 1, PyArray_NDIM(target)), rows = PyArray_SIZE(index);
    if (PyArray_SIZE(source) != outer * rows * inner) {
        mismatch(name);
        return nullptr;
    }
    if (!within(index, length)) Py_RETURN_FALSE;
    if (PyArray_SIZE(source) == 0) Py_RETURN_TRUE;
    float* to = static_cast<float*>(PyArray_DATA(target));
    const float* from = static_cast<const float*>(PyArray_DATA(source));
    const int64_t* places = numbers_of(index);
    const auto add = kernels().indexing->add_rows;
    const bool large = PyArray_SIZE(source) > GRAIN;
    Released released(large);
    // Each thread has columns of its own, so that all sums are made in the order of the index.
    const int64_t pieces = large ? (inner + COLUMNS - 1) / COLUMNS : 1, width = large ? COLUMNS : inner;
    parallel(outer * pieces, large ? 1 : outer * pieces, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
            const int64_t o = unit / pieces, start = unit % pieces * width;
            add(to + o * length * inner + start, inner, from + o * rows * inner + start, inner, places, rows,
                std::min(width, inner - start), alpha, skipped);
        }
    });
    Py_RETURN_TRUE;
}

// take_rows(source, dim, index) -> (*L, *index, *R), or None where an index is out of range.
PyObject* take_rows(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "take_rows";
    if (names != nullptr || !counted(count, 3, name)) return refused(names, name);
    PyArrayObject* source = row_major(arguments[0], name, 1, READS);
    PyArrayObject* index = source == nullptr ? nullptr : typed(arguments[2], name, 3, NPY_INT64, READS);
    int dim;
    if (index == nullptr || !dimension(arguments[1], PyArray_NDIM(source), name, &dim)) return nullptr;
    const int own = PyArray_NDIM(source), more = PyArray_NDIM(index);
    if (own + more - 1 > NPY_MAXDIMS) {
        mismatch(name);
        return nullptr;
    }
    const int64_t length = PyArray_DIM(source, dim);
    if (!within(index, length)) Py_RETURN_NONE;
    npy_intp shape[2 * NPY_MAXDIMS];
    std::copy_n(PyArray_DIMS(source), dim, shape);
    std::copy_n(PyArray_DIMS(index), more, shape + dim);
    std::copy_n(PyArray_DIMS(source) + dim + 1, own - dim - 1, shape + dim + more);
    PyArray_Descr* descr = PyArray_DESCR(source);
    Py_INCREF(descr);
    Reference result(new_of(descr, own + more - 1, shape));
    if (!result || PyArray_SIZE(result.array()) == 0) return result.release();
    const int64_t outer = product(source, 0, dim), rows = PyArray_SIZE(index);
    const size_t bytes = static_cast<size_t>(product(source, dim + 1, own) * PyArray_ITEMSIZE(source));
    const char* from = PyArray_BYTES(source);
    char* to = PyArray_BYTES(result.array());
    const int64_t* places = numbers_of(index);
    const int64_t each = static_cast<int64_t>(bytes / 4 + 1);
    Released released(outer * rows * each > GRAIN);
    parallel(outer * rows, each >= GRAIN ? 1 : GRAIN / each + 1, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i / rows * length + places[i % rows];
            std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(row) * bytes, bytes);
        }
    });
    return result.release();
}

// Elements, along one dimension: the index has the rank of what is indexed, and is at most as large in the others

struct Lanes {
    int ndim, dim;
    const npy_intp* shape;
    const int64_t* places;
    int64_t size;
    // How far a step along the last dimension goes in what is indexed, unless that is the one.
    int64_t step() const { return ndim - 1 == dim ? 0 : indexed[ndim - 1]; }
    int64_t along() const { return indexed[dim]; }
    int64_t width() const { return shape[ndim - 1]; }
    // How far a step along each dimension goes, in elements: of what is indexed, and of what goes beside the index.
    int64_t indexed[NPY_MAXDIMS], beside[NPY_MAXDIMS];
};

void element_strides(PyArrayObject* array, int64_t* strides) {
    for (int d = 0; d < PyArray_NDIM(array); ++d) strides[d] = PyArray_STRIDE(array, d) / PyArray_ITEMSIZE(array);
}

// Calls `each(position in what is indexed, position beside, position in the index)` for rows of the index, in order.
template <class Each>
void along_lanes(const Lanes& lanes, const Each& each) {
    const int last = lanes.ndim - 1;
    const int64_t width = lanes.shape[last], rows = lanes.size / width;
    const auto some = [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t indexed = 0, beside = 0, rest = row;
            for (int d = last - 1; d >= 0; --d) {
                const int64_t at = rest % lanes.shape[d];
                rest /= lanes.shape[d];
                if (d != lanes.dim) indexed += at * lanes.indexed[d];
                beside += at * lanes.beside[d];
            }
            each(indexed, beside, row * width);
        }
    };
    // Threads take entries of the first dimension, which share nothing unless it is the one that is indexed.
    const int64_t first = lanes.shape[0], each_row = first == 0 ? 1 : lanes.size / first, inner = each_row / width;
    if (lanes.dim == 0 || last == 0) {
        some(0, rows);
        return;
    }
    parallel(first, each_row >= GRAIN ? 1 : GRAIN / each_row + 1,
             [&](int64_t begin, int64_t end) { some(begin * inner, end * inner); });
}

// Fills in what `indexed`, `index` and what stands beside it have in common; false with an error, or, where an index
// is out of range, without one.
bool lanes_of(Lanes& lanes, PyArrayObject* indexed, int dim, PyArrayObject* index, PyArrayObject* beside,
              const char* name) {
    const int ndim = PyArray_NDIM(indexed);
    bool fits = PyArray_NDIM(index) == ndim && (beside == nullptr || PyArray_NDIM(beside) == ndim);
    for (int d = 0; d < ndim && fits; ++d)
        fits = (d == dim || PyArray_DIM(index, d) <= PyArray_DIM(indexed, d)) &&
               (beside == nullptr || PyArray_DIM(index, d) <= PyArray_DIM(beside, d));
    if (!fits) {
        mismatch(name);
        return false;
    }
    if (!within(index, PyArray_DIM(indexed, dim))) return false;
    lanes.ndim = ndim;
    lanes.dim = dim;
    lanes.shape = PyArray_DIMS(index);
    lanes.places = numbers_of(index);
    lanes.size = PyArray_SIZE(index);
    element_strides(indexed, lanes.indexed);
    if (beside != nullptr) element_strides(beside, lanes.beside);
    else std::fill_n(lanes.beside, ndim, 0);
    return true;
}

// Which of the functions for elements of 1, 2, 4 and 8 bytes; -1 for other sizes.
int by_size(int64_t itemsize) {
    for (int i = 0; i < 4; ++i)
        if (itemsize == 1 << i) return i;
    return -1;
}

// gather(source, dim, index) -> (*index), or None where an index is out of range or elements are large.
PyObject* gather(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "gather";
    if (names != nullptr || !counted(count, 3, name)) return refused(names, name);
    PyArrayObject* source = row_major(arguments[0], name, 1, READS);
    PyArrayObject* index = source == nullptr ? nullptr : typed(arguments[2], name, 3, NPY_INT64, READS);
    int dim;
    if (index == nullptr || !dimension(arguments[1], PyArray_NDIM(source), name, &dim)) return nullptr;
    Lanes lanes;
    if (!lanes_of(lanes, source, dim, index, nullptr, name)) {
        if (PyErr_Occurred()) return nullptr;
        Py_RETURN_NONE;
    }
    PyArray_Descr* descr = PyArray_DESCR(source);
    Py_INCREF(descr);
    Reference result(new_of(descr, PyArray_NDIM(index), PyArray_DIMS(index)));
    if (!result || lanes.size == 0) return result.release();
    const int of = by_size(PyArray_ITEMSIZE(source));
    if (of < 0) Py_RETURN_NONE;
    const auto f = kernels().indexing->gather[of];
    const char* from = PyArray_BYTES(source);
    char* to = PyArray_BYTES(result.array());
    Released released(lanes.size > GRAIN);
    along_lanes(lanes, [&](int64_t place, int64_t, int64_t i) {
        f(from + (place << of), lanes.step(), lanes.along(), lanes.places + i, to + (i << of), lanes.width());
    });
    return result.release();
}

// scatter(target, dim, index, source) -> whether it was done; of several elements for one place the last remains. A source
// without dimensions is the one value for all places.
PyObject* scatter(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "scatter";
    if (names != nullptr || !counted(count, 4, name)) return refused(names, name);
    PyArrayObject* target = row_major(arguments[0], name, 1, WRITES);
    PyArrayObject* index = target == nullptr ? nullptr : typed(arguments[2], name, 3, NPY_INT64, READS);
    PyArrayObject* source = index == nullptr ? nullptr : row_major(arguments[3], name, 4, READS);
    int dim;
    if (source == nullptr || !dimension(arguments[1], PyArray_NDIM(target), name, &dim)) return nullptr;
    if (!PyArray_EquivTypes(PyArray_DESCR(target), PyArray_DESCR(source))) {
        mismatch(name);
        return nullptr;
    }
    Lanes lanes;
    const bool one_value = PyArray_NDIM(source) == 0 && PyArray_NDIM(target) > 0;
    if (!lanes_of(lanes, target, dim, index, one_value ? nullptr : source, name)) {
        if (PyErr_Occurred()) return nullptr;
        Py_RETURN_FALSE;
    }
    if (lanes.size == 0) Py_RETURN_TRUE;
    const int of = by_size(PyArray_ITEMSIZE(target));
    if (of < 0) Py_RETURN_FALSE;
    const auto f = kernels().indexing->scatter[of];
    char* to = PyArray_BYTES(target);
    const char* from = PyArray_BYTES(source);
    const int64_t other = lanes.beside[lanes.ndim - 1];
    Released released(lanes.size > GRAIN);
    along_lanes(lanes, [&](int64_t place, int64_t beside, int64_t i) {
        f(to + (place << of), lanes.step(), lanes.along(), lanes.places + i, from + (beside << of), other, lanes.width());
    });
    Py_RETURN_TRUE;
}

// scatter_add(target, dim, index, source) of float32 -> whether all indices are in range.
PyObject* scatter_add(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "scatter_add";
    if (names != nullptr || !counted(count, 4, name)) return refused(names, name);
    PyArrayObject* target = typed(arguments[0], name, 1, NPY_FLOAT, WRITES);
    PyArrayObject* index = target == nullptr ? nullptr : typed(arguments[2], name, 3, NPY_INT64, READS);
    PyArrayObject* source = index == nullptr ? nullptr : typed(arguments[3], name, 4, NPY_FLOAT, READS);
    int dim;
    if (source == nullptr || !dimension(arguments[1], PyArray_NDIM(target), name, &dim)) return nullptr;
    Lanes lanes;
    if (!lanes_of(lanes, target, dim, index, source, name)) {
        if (PyErr_Occurred()) return nullptr;
        Py_RETURN_FALSE;
    }
    if (lanes.size == 0) Py_RETURN_TRUE;
    float* to = static_cast<float*>(PyArray_DATA(target));
    const float* from = static_cast<const float*>(PyArray_DATA(source));
    Released released(lanes.size > GRAIN);
    const auto f = kernels().indexing->scatter_add;
    const int64_t other = lanes.beside[lanes.ndim - 1];
    along_lanes(lanes, [&](int64_t place, int64_t beside, int64_t i) {
        f(to + place, lanes.step(), lanes.along(), lanes.places + i, from + beside, other, lanes.width());
    });
    Py_RETURN_TRUE;
}

}  // namespace

PyMethodDef indexing_methods[] = {
    method("index_add", index_add, "index_add(target, dim, index, source, alpha, skipped) -> whether it was done"),
    method("take_rows", take_rows, "take_rows(source, dim, index); None where an index is out of range"),
    method("gather", gather, "gather(source, dim, index); None where an index is out of range"),
    method("scatter", scatter, "scatter(target, dim, index, source) -> whether it was done"),
    method("scatter_add", scatter_add, "scatter_add(target, dim, index, source) -> whether it was done"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
