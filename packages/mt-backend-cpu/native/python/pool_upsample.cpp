// Resizing over the last dimensions of arrays that lie plane by plane, or with their channels innermost.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

constexpr int MOST = 3;

struct Resized {
    int spatial = 0;
    bool mapped[MOST] = {}, adjoint = false;
    LineMap lines[MOST];
    int64_t sizes[MOST], results[MOST], inner = 1;

    int64_t volume(const int64_t* of) const {
        int64_t product = inner;
        for (int d = 0; d < spatial; ++d) product *= of[d];
        return product;
    }
};

// One dimension's map: None, or (places, weights or None, uneven).
bool read_line(PyObject* given, int64_t from, LineMap& line) {
    PyObject *places, *weights;
    int uneven;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "OOp", &places, &weights, &uneven)) {
        PyErr_SetString(PyExc_TypeError, "resize: a map must be None or (places, weights, uneven)");
        return false;
    }
    PyArrayObject* at = array_of(places, "resize", 2);
    if (at == nullptr) return false;
    if (PyArray_TYPE(at) != NPY_INT32 || PyArray_NDIM(at) != 2 || !PyArray_ISCARRAY_RO(at) || PyArray_SIZE(at) == 0) {
        PyErr_SetString(PyExc_TypeError, "resize: places must be a row-major array (taps, size) of int32");
        return false;
    }
    line.from = from;
    line.taps = PyArray_DIM(at, 0);
    line.to = PyArray_DIM(at, 1);
    line.places = static_cast<const int32_t*>(PyArray_DATA(at));
    line.uneven = uneven != 0;
    for (int64_t i = 0; i < line.taps * line.to; ++i)
        if (line.places[i] < (line.uneven && weights != Py_None ? -1 : 0) || line.places[i] >= from) {
            PyErr_Format(PyExc_ValueError, "resize: place %d of a line of %lld", static_cast<int>(line.places[i]),
                         static_cast<long long>(from));
            return false;
        }
    line.weights = nullptr;
    if (weights != Py_None) {
        PyArrayObject* factors = float_rows(weights, "resize", 2);
        if (factors == nullptr) return false;
        line.weights = static_cast<const float*>(PyArray_DATA(factors));
        if (PyArray_SIZE(factors) == line.taps * line.to) return true;
    } else if (line.taps == 1) {
        return true;
    }
    PyErr_SetString(PyExc_ValueError, "resize: there must be a weight for each place, or none for a single tap");
    return false;
}

void resize_item(const UpsampleTable* table, const Resized& s, const float* x, float* result, float* one, float* other) {
    int64_t sizes[MOST];
    std::copy(s.sizes, s.sizes + s.spatial, sizes);
    int left = static_cast<int>(std::count(s.mapped, s.mapped + s.spatial, true));
    if (left == 0) std::copy(x, x + s.volume(s.sizes), result);
    for (int i = 0; i < s.spatial; ++i) {
        const int d = s.adjoint ? i : s.spatial - 1 - i;
        if (!s.mapped[d]) continue;
        float* to = --left == 0 ? result : one;
        int64_t outer = 1, inner = s.inner;
        for (int k = 0; k < d; ++k) outer *= sizes[k];
        for (int k = d + 1; k < s.spatial; ++k) inner *= sizes[k];
        const LineMap& line = s.lines[d];
        if (inner == 1)
            table->along_rows(x, to, line, outer);
        else
            for (int64_t o = 0; o < outer; ++o)
                table->along_columns(x + o * line.from * inner, to + o * line.to * inner, line, inner);
        sizes[d] = line.to;
        x = to;
        std::swap(one, other);
    }
}

// resize(x, maps, adjoint) -> x with its last dimensions mapped, the last one first or, `adjoint`, last.
PyObject* resize(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "resize")) return refused(names, "resize");
    PyArrayObject* x = array_of(arguments[0], "resize", 1);
    if (x == nullptr) return nullptr;
    PyObject* maps = arguments[1];
    const int ndim = PyArray_NDIM(x);
    const Py_ssize_t spatial = PyTuple_Check(maps) ? PyTuple_GET_SIZE(maps) : 0;
    if (spatial < 1 || spatial > MOST || ndim < spatial || element_of(x) != Element::Float32) {
        PyErr_SetString(PyExc_TypeError, "resize takes an array of float32 and a tuple of maps of its last 1 to 3 dimensions");
        return nullptr;
    }
    Resized s;
    s.spatial = static_cast<int>(spatial);
    s.adjoint = PyObject_IsTrue(arguments[2]) != 0;
    const bool rows = !PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISALIGNED(x) && ndim == s.spatial + 2 && channels_innermost(x);
    Reference held(rows ? Py_NewRef(arguments[0]) : PyArray_FROM_OF(arguments[0], NPY_ARRAY_CARRAY_RO));
    if (!held) return nullptr;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; ++d) shape[d] = PyArray_DIM(x, d);
    if (rows) s.inner = shape[1];
    int64_t largest = 0;
    for (int d = 0; d < s.spatial; ++d) {
        s.sizes[d] = s.results[d] = shape[ndim - s.spatial + d];
        PyObject* given = PyTuple_GET_ITEM(maps, d);
        s.lines[d].from_zero = s.adjoint;
        s.mapped[d] = given != Py_None;
        if (s.mapped[d] && !read_line(given, s.sizes[d], s.lines[d])) return nullptr;
        if (s.mapped[d]) s.results[d] = s.lines[d].to;
        shape[ndim - s.spatial + d] = s.results[d];
    }
    int64_t sizes[MOST];
    for (int d = 0; d < s.spatial; ++d) sizes[d] = std::max(s.sizes[d], s.results[d]);
    largest = s.volume(sizes);
    if (rows) std::rotate(shape + 1, shape + 2, shape + ndim);
    Reference result(new_array(ndim, shape, NPY_FLOAT));
    if (!result) return nullptr;
    const int64_t before = s.volume(s.sizes), after = s.volume(s.results);
    const int64_t items = PyArray_SIZE(x) == 0 ? 0 : PyArray_SIZE(x) / before;
    const float* from = static_cast<const float*>(PyArray_DATA(held.array()));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const UpsampleTable* table = kernels().upsample;
    const size_t scratch = std::count(s.mapped, s.mapped + s.spatial, true) > 1 ? static_cast<size_t>(largest) : 0;
    std::atomic<bool> failed{false};
    {
        Released released(items * largest > GRAIN);
        parallel(items, largest >= GRAIN ? 1 : GRAIN / largest + 1, [&](int64_t begin, int64_t end) {
            const std::unique_ptr<float[]> room(scratch == 0 ? nullptr : new (std::nothrow) float[2 * scratch]);
            if (scratch != 0 && !room) {
                failed = true;
                return;
            }
            for (int64_t i = begin; i < end; ++i)
                resize_item(table, s, from + i * before, to + i * after, room.get(), room.get() + scratch);
        });
    }
    if (failed) return PyErr_NoMemory();
    if (!rows) return result.release();
    npy_intp order[NPY_MAXDIMS] = {0, ndim - 1};
    for (int d = 2; d < ndim; ++d) order[d] = d - 1;
    PyArray_Dims dims = {order, ndim};
    return PyArray_Transpose(result.array(), &dims);
}

}  // namespace

PyMethodDef upsample_methods[] = {
    method("resize", resize, "resize(x, maps, adjoint) -> x with its last dimensions mapped"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
