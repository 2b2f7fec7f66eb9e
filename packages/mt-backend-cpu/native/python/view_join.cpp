// Copies of row-major arrays, one after another, and choices between them.
#include <algorithm>
#include <cstring>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Bytes that are worth copying in another thread.
constexpr int64_t PORTION = 1 << 19;

// A row-major array of elements without references; null with an error.
PyArrayObject* plain_rows(PyObject* object, const char* function) {
    PyArrayObject* array = array_of(object, function, 1);
    if (array == nullptr) return nullptr;
    if (PyArray_IS_C_CONTIGUOUS(array) && !PyDataType_REFCHK(PyArray_DESCR(array))) return array;
    PyErr_Format(PyExc_TypeError, "%s takes row-major arrays", function);
    return nullptr;
}

void copy_bytes(char* to, const char* from, int64_t n) {
    if (n <= PORTION) {
        std::memcpy(to, from, static_cast<size_t>(n));
        return;
    }
    parallel(n, PORTION, [=](int64_t begin, int64_t end) {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
}

PyObject* clone(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "clone")) return refused(names, "clone");
    PyArrayObject* x = plain_rows(arguments[0], "clone");
    if (x == nullptr) return nullptr;
    Reference result(new_like(x));
    if (!result) return nullptr;
    // Of dimensions with one element, and of arrays without any, strides say nothing, and are kept as they are.
    std::copy_n(PyArray_STRIDES(x), PyArray_NDIM(x), PyArray_STRIDES(result.array()));
    const int64_t n = PyArray_NBYTES(x);
    Released released(n > PORTION);
    copy_bytes(PyArray_BYTES(result.array()), PyArray_BYTES(x), n);
    return result.release();
}

// Arrays of one element type, which agree in all dimensions but `dim`; with `New`, in all, and `dim` is a new one.
template <bool New>
PyObject* join(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* function = New ? "stack" : "cat";
    if (names != nullptr || !counted(count, 2, function)) return refused(names, function);
    if (!PyList_CheckExact(arguments[0]) || PyList_GET_SIZE(arguments[0]) == 0) {
        PyErr_Format(PyExc_TypeError, "%s takes a list of arrays", function);
        return nullptr;
    }
    PyObject* list = arguments[0];
    const Py_ssize_t arrays = PyList_GET_SIZE(list);
    const long long dim = PyLong_AsLongLong(arguments[1]);
    if (dim == -1 && PyErr_Occurred()) return nullptr;
    PyArrayObject* first = plain_rows(PyList_GET_ITEM(list, 0), function);
    if (first == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(first);
    if (dim < 0 || dim >= ndim + (New ? 1 : 0) || ndim + 1 > NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "%s: there is no dimension %lld", function, dim);
        return nullptr;
    }
    npy_intp along = 0;
    for (Py_ssize_t i = 0; i < arrays; ++i) {
        PyArrayObject* x = plain_rows(PyList_GET_ITEM(list, i), function);
        if (x == nullptr) return nullptr;
        // Arrays that come from elsewhere have descriptors of their own.
        bool alike = PyArray_NDIM(x) == ndim && (PyArray_DESCR(x) == PyArray_DESCR(first) ||
                                                 PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(first)));
        for (int d = 0; d < ndim && alike; ++d)
            alike = PyArray_DIM(x, d) == PyArray_DIM(first, d) || (!New && d == dim);
        if (!alike) {
            PyErr_Format(PyExc_ValueError, "%s takes arrays of one element type that fit together", function);
            return nullptr;
        }
        along += New ? 1 : PyArray_DIM(x, static_cast<int>(dim));
    }
    npy_intp shape[NPY_MAXDIMS];
    int64_t outer = 1, inner = PyArray_ITEMSIZE(first);
    for (int d = 0; d < ndim; ++d) {
        if (d < dim) outer *= PyArray_DIM(first, d);
        if (d > dim || (New && d == dim)) inner *= PyArray_DIM(first, d);
    }
    for (int d = 0; d < ndim + (New ? 1 : 0); ++d)
        shape[d] = d == dim ? along : PyArray_DIM(first, New && d > dim ? d - 1 : d);
    PyArray_Descr* descr = PyArray_DESCR(first);
    Py_INCREF(descr);
    Reference result(new_of(descr, ndim + (New ? 1 : 0), shape));
    if (!result) return nullptr;
    const int64_t row = along * inner;
    char* to = PyArray_BYTES(result.array());
    // The list holds the arrays, and nobody else has it.
    Released released(outer * row > PORTION);
    for (Py_ssize_t i = 0; i < arrays; ++i) {
        PyArrayObject* x = reinterpret_cast<PyArrayObject*>(PyList_GET_ITEM(list, i));
        const int64_t own = New ? inner : PyArray_DIM(x, static_cast<int>(dim)) * inner;
        const char* from = PyArray_BYTES(x);
        if (own != 0 && outer == 1)
            copy_bytes(to, from, own);
        else if (own != 0)
            parallel(outer, own >= PORTION ? 1 : PORTION / own + 1, [=](int64_t begin, int64_t end) {
                for (int64_t o = begin; o < end; ++o)
                    std::memcpy(to + o * row, from + o * own, static_cast<size_t>(own));
            });
        to += own;
    }
    return result.release();
}

// An operand of a choice: its elements, and 0 where there is one for all.
struct Operand {
    const char* data;
    int64_t step;
    float number;
};

bool operand_of(PyObject* object, PyArrayObject* condition, PyArray_Descr* descr, Operand* operand) {
    if (PyArray_Check(object)) {
        PyArrayObject* array = reinterpret_cast<PyArrayObject*>(object);
        if (PyArray_DESCR(array) != descr && !PyArray_EquivTypes(PyArray_DESCR(array), descr)) return false;
        if (!PyArray_ISCARRAY_RO(array)) return false;
        const bool alike = PyArray_NDIM(array) == PyArray_NDIM(condition) &&
                           PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(condition), PyArray_NDIM(array));
        if (!alike && PyArray_NDIM(array) != 0) return false;
        *operand = {PyArray_BYTES(array), alike ? 1 : 0, 0.f};
        return true;
    }
    if (descr->type_num != NPY_FLOAT || !PyFloat_CheckExact(object)) return false;
    operand->number = static_cast<float>(PyFloat_AS_DOUBLE(object));
    operand->data = reinterpret_cast<const char*>(&operand->number);
    operand->step = 0;
    return true;
}

// where(condition, a, b): row-major arrays of one shape, a and b arrays of one element type, arrays without dimensions,
// or one of the two a float beside float32. None where they are others.
PyObject* where(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "where")) return refused(names, "where");
    PyArrayObject* condition = array_of(arguments[0], "where", 1);
    if (condition == nullptr) return nullptr;
    PyArray_Descr* descr = nullptr;
    for (int i = 1; i < 3; ++i)
        if (PyArray_Check(arguments[i])) descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(arguments[i]));
    Operand a, b;
    if (descr == nullptr || PyArray_TYPE(condition) != NPY_BOOL || !PyArray_ISCARRAY_RO(condition) ||
        PyDataType_REFCHK(descr) || !operand_of(arguments[1], condition, descr, &a) ||
        !operand_of(arguments[2], condition, descr, &b))
        Py_RETURN_NONE;
    const npy_intp itemsize = PyDataType_ELSIZE(descr);
    const int which = itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
    if (which < 0) Py_RETURN_NONE;
    Py_INCREF(descr);
    Reference result(new_of(descr, PyArray_NDIM(condition), PyArray_DIMS(condition)));
    if (!result) return nullptr;
    const int64_t n = PyArray_SIZE(condition);
    const auto f = kernels().comparison->select[which];
    const uint8_t* chooses = static_cast<const uint8_t*>(PyArray_DATA(condition));
    char* to = PyArray_BYTES(result.array());
    Released released(n > 4 * GRAIN);
    parallel(n, 4 * GRAIN, [&](int64_t begin, int64_t end) {
        f(chooses + begin, a.data + a.step * begin * itemsize, a.step, b.data + b.step * begin * itemsize, b.step,
          to + begin * itemsize, end - begin);
    });
    return result.release();
}

}  // namespace

PyMethodDef join_methods[] = {
    method("clone", clone, "clone(x) of a row-major array"),
    method("cat", join<false>, "cat(arrays, dim)"),
    method("stack", join<true>, "stack(arrays, dim)"),
    method("where", where, "where(condition, a, b), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
