// Small row-major arrays indexed by a mask or by tensors of int64 that stand side by side. What these functions do not
// do is the core's, which also says what is wrong.
#include <cstring>
#include <vector>

#include "python/bindings.hpp"

namespace mt {
namespace {

// Larger arrays are worth a kernel of their own.
constexpr npy_intp MOST = 4 * GRAIN;

// Where rows lie: (outer, *picked) rows of `inner` bytes each, of (outer, among) rows.
struct Picked {
    npy_intp outer = 1, among = 1, inner = 1;
    std::vector<npy_intp> rows;
    int ndim = 0;
    npy_intp shape[NPY_MAXDIMS];
};

bool is_plain(PyObject* object) {
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(reinterpret_cast<PyArrayObject*>(object));
}

bool rows_of_mask(PyArrayObject* x, int at, PyArrayObject* mask, Picked& picked, int* covered) {
    *covered = PyArray_NDIM(mask);
    if (*covered == 0 || at + *covered > PyArray_NDIM(x) ||
        !PyArray_CompareLists(PyArray_DIMS(mask), PyArray_DIMS(x) + at, *covered))
        return false;
    const uint8_t* elements = static_cast<const uint8_t*>(PyArray_DATA(mask));
    const npy_intp size = PyArray_SIZE(mask);
    for (npy_intp i = 0; i < size; ++i)
        if (elements[i]) picked.rows.push_back(i);
    if (picked.rows.empty()) return false;
    picked.shape[picked.ndim++] = static_cast<npy_intp>(picked.rows.size());
    return true;
}

bool rows_of_indices(PyArrayObject* x, int at, PyObject** given, Py_ssize_t count, Picked& picked) {
    PyArrayObject* first = reinterpret_cast<PyArrayObject*>(given[0]);
    const npy_intp size = PyArray_SIZE(first);
    const int kept = PyArray_NDIM(x) - static_cast<int>(count);
    if (size == 0 || size > MOST || at + count > PyArray_NDIM(x) || PyArray_NDIM(first) + kept > NPY_MAXDIMS)
        return false;
    picked.rows.assign(static_cast<size_t>(size), 0);
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyArrayObject* index = reinterpret_cast<PyArrayObject*>(given[k]);
        if (!is_plain(given[k]) || PyArray_TYPE(index) != NPY_INT64 || PyArray_NDIM(index) != PyArray_NDIM(first) ||
            !PyArray_CompareLists(PyArray_DIMS(index), PyArray_DIMS(first), PyArray_NDIM(first)))
            return false;
        const npy_intp extent = PyArray_DIM(x, at + static_cast<int>(k));
        const int64_t* places = static_cast<const int64_t*>(PyArray_DATA(index));
        for (npy_intp i = 0; i < size; ++i) {
            const int64_t place = places[i];
            if (place < -extent || place >= extent) return false;
            npy_intp& row = picked.rows[static_cast<size_t>(i)];
            row = row * extent + (place < 0 ? place + extent : place);
        }
    }
    for (int d = 0; d < PyArray_NDIM(first); ++d) picked.shape[picked.ndim++] = PyArray_DIM(first, d);
    return true;
}

// What a list of indices picks of an array; false, without an error, where it is the core's.
bool pick(PyArrayObject* x, PyObject* indices, Picked& picked) {
    if (!PyArray_ISCARRAY_RO(x) || PyArray_SIZE(x) == 0 || PyArray_SIZE(x) > MOST || PyDataType_REFCHK(PyArray_DESCR(x)))
        return false;
    PyObject** given = PySequence_Fast_ITEMS(indices);
    const Py_ssize_t count = Py_SIZE(indices);
    Py_ssize_t at = 0;
    while (at < count && given[at] == Py_None) ++at;
    if (at == count || at >= PyArray_NDIM(x)) return false;
    Py_ssize_t last = at;
    while (last < count && given[last] != Py_None) ++last;
    for (Py_ssize_t i = last; i < count; ++i)
        if (given[i] != Py_None) return false;
    if (count > PyArray_NDIM(x) || !is_plain(given[at])) return false;
    const int first = static_cast<int>(at);
    for (int d = 0; d < first; ++d) {
        picked.outer *= PyArray_DIM(x, d);
        picked.shape[picked.ndim++] = PyArray_DIM(x, d);
    }
    int covered = static_cast<int>(last - at);
    PyArrayObject* mask = reinterpret_cast<PyArrayObject*>(given[at]);
    if (PyArray_TYPE(mask) == NPY_BOOL) {
        if (covered != 1 || !rows_of_mask(x, first, mask, picked, &covered)) return false;
    } else if (!rows_of_indices(x, first, given + at, last - at, picked)) {
        return false;
    }
    for (int d = first; d < PyArray_NDIM(x); ++d) {
        const npy_intp size = PyArray_DIM(x, d);
        if (d < first + covered) {
            picked.among *= size;
            continue;
        }
        picked.inner *= size;
        picked.shape[picked.ndim++] = size;
    }
    picked.inner *= PyArray_ITEMSIZE(x);
    return true;
}

// Calls f(bytes from x's begin, bytes from the picked rows' begin) for each row.
template <class F>
void each_row(const Picked& picked, F f) {
    npy_intp behind = 0;
    for (npy_intp o = 0; o < picked.outer; ++o)
        for (const npy_intp row : picked.rows) {
            f((o * picked.among + row) * picked.inner, behind);
            behind += picked.inner;
        }
}

template <class F>
void each_row_of(const Picked& picked, F f) {
    const auto copying = [&](auto size) {
        each_row(picked, [&](npy_intp inside, npy_intp behind) { f(inside, behind, static_cast<size_t>(size())); });
    };
    switch (picked.inner) {  // sizes that compilers copy in registers
        case 1: return copying([] { return 1; });
        case 4: return copying([] { return 4; });
        case 8: return copying([] { return 8; });
        default: return copying([&] { return picked.inner; });
    }
}

PyObject* picked_of(PyArrayObject* x, PyObject* indices) {
    Picked picked;
    if (!pick(x, indices, picked)) Py_RETURN_NONE;
    if (static_cast<npy_intp>(picked.rows.size()) > MOST / picked.outer) Py_RETURN_NONE;
    PyArray_Descr* descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    PyObject* made = new_of(descr, picked.ndim, picked.shape);
    if (made == nullptr) return nullptr;
    char* to = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(made));
    const char* from = PyArray_BYTES(x);
    each_row_of(picked, [=](npy_intp inside, npy_intp behind, size_t size) { std::memcpy(to + behind, from + inside, size); });
    return made;
}

// pick(x, indices) -> x[indices], or None
PyObject* pick_(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "pick")) return refused(names, "pick");
    PyArrayObject* x = array_of(arguments[0], "pick", 1);
    if (x == nullptr) return nullptr;
    if (!PyList_CheckExact(arguments[1])) Py_RETURN_NONE;
    return picked_of(x, arguments[1]);
}

// pick_masked(x, mask) -> the elements where the mask, of x's shape, is true; or None
PyObject* pick_masked(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "pick_masked")) return refused(names, "pick_masked");
    PyArrayObject* x = array_of(arguments[0], "pick_masked", 1);
    PyArrayObject* mask = x == nullptr ? nullptr : array_of(arguments[1], "pick_masked", 2);
    if (mask == nullptr) return nullptr;
    if (PyArray_TYPE(mask) != NPY_BOOL || PyArray_NDIM(x) == 0 || !PyArray_SAMESHAPE(x, mask)) Py_RETURN_NONE;
    if (PyArray_ISUNSIGNED(x) && PyArray_ITEMSIZE(x) > 1) Py_RETURN_NONE;  // which the core refuses
    Reference indices(PyList_New(1));
    if (!indices) return nullptr;
    PyList_SET_ITEM(indices.get(), 0, Py_NewRef(arguments[1]));
    return picked_of(x, indices.get());
}

// pick_rows(x, index, ...) -> x[index], every index counted from the front; or None
PyObject* pick_rows(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || count < 2) {
        PyErr_SetString(PyExc_TypeError, "pick_rows takes an array and indices");
        return nullptr;
    }
    PyArrayObject* x = array_of(arguments[0], "pick_rows", 1);
    PyArrayObject* index = x == nullptr ? nullptr : array_of(arguments[1], "pick_rows", 2);
    if (index == nullptr) return nullptr;
    if (PyArray_NDIM(x) != 2 || PyArray_TYPE(index) != NPY_INT64 || !is_plain(arguments[1])) Py_RETURN_NONE;
    const int64_t* places = static_cast<const int64_t*>(PyArray_DATA(index));
    const npy_intp size = PyArray_SIZE(index);
    if (size > MOST) Py_RETURN_NONE;
    for (npy_intp i = 0; i < size; ++i)
        if (places[i] < 0) Py_RETURN_NONE;
    Reference indices(PyList_New(1));
    if (!indices) return nullptr;
    PyList_SET_ITEM(indices.get(), 0, Py_NewRef(arguments[1]));
    return picked_of(x, indices.get());
}

bool may_overlap(PyArrayObject* a, PyArrayObject* b) {
    const char *a_low = PyArray_BYTES(a), *b_low = PyArray_BYTES(b);
    return a_low < b_low + PyArray_NBYTES(b) && b_low < a_low + PyArray_NBYTES(a);
}

// place(x, indices, values) -> whether x[indices] = values was done: values of one element, or of the shape of what is
// picked. Of several rows for one place the last remains.
PyObject* place(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "place")) return refused(names, "place");
    PyArrayObject* x = array_of(arguments[0], "place", 1);
    PyArrayObject* values = x == nullptr ? nullptr : array_of(arguments[2], "place", 3);
    if (values == nullptr) return nullptr;
    if (!PyList_CheckExact(arguments[1]) || !PyArray_ISCARRAY(x) || !PyArray_ISCARRAY_RO(values) ||
        PyArray_DESCR(x) != PyArray_DESCR(values) || may_overlap(x, values))
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arguments[1]); ++i) {
        PyObject* index = PyList_GET_ITEM(arguments[1], i);
        if (index != Py_None &&
            (!is_plain(index) || may_overlap(x, reinterpret_cast<PyArrayObject*>(index))))
            Py_RETURN_FALSE;
    }
    Picked picked;
    if (!pick(x, arguments[1], picked)) Py_RETURN_FALSE;
    const npy_intp item = PyArray_ITEMSIZE(x);
    const bool is_one = PyArray_SIZE(values) == 1;
    if (!is_one && (PyArray_NDIM(values) != picked.ndim ||
                    !PyArray_CompareLists(PyArray_DIMS(values), picked.shape, picked.ndim)))
        Py_RETURN_FALSE;
    char* to = PyArray_BYTES(x);
    const char* from = PyArray_BYTES(values);
    if (is_one)
        each_row(picked, [=](npy_intp inside, npy_intp) {
            for (npy_intp b = 0; b < picked.inner; b += item)
                std::memcpy(to + inside + b, from, static_cast<size_t>(item));
        });
    else
        each_row_of(picked, [=](npy_intp inside, npy_intp behind, size_t size) { std::memcpy(to + inside, from + behind, size); });
    Py_RETURN_TRUE;
}

// one_hot(index, classes): of int64; classes may be -1, for one more than the largest. None where there is none, or one
// is out of range.
PyObject* one_hot(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "one_hot")) return refused(names, "one_hot");
    PyArrayObject* index = array_of(arguments[0], "one_hot", 1);
    if (index == nullptr) return nullptr;
    const npy_intp size = PyArray_SIZE(index);
    if (PyArray_TYPE(index) != NPY_INT64 || !is_plain(arguments[0]) || size == 0 || !PyLong_CheckExact(arguments[1]) ||
        PyArray_NDIM(index) >= NPY_MAXDIMS)
        Py_RETURN_NONE;
    int overflow;
    long long classes = PyLong_AsLongLongAndOverflow(arguments[1], &overflow);
    if (overflow || classes == 0 || classes < -1) Py_RETURN_NONE;
    const int64_t* places = static_cast<const int64_t*>(PyArray_DATA(index));
    int64_t largest = 0;
    for (npy_intp i = 0; i < size; ++i) {
        if (places[i] < 0) Py_RETURN_NONE;
        if (places[i] > largest) largest = places[i];
    }
    if (largest >= NPY_MAX_INTP / 8) Py_RETURN_NONE;
    if (classes < 0) classes = largest + 1;
    if (largest >= classes || classes > NPY_MAX_INTP / 8 / size) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = PyArray_NDIM(index);
    std::memcpy(shape, PyArray_DIMS(index), static_cast<size_t>(ndim) * sizeof(npy_intp));
    shape[ndim] = static_cast<npy_intp>(classes);
    PyObject* made = PyArray_ZEROS(ndim + 1, shape, NPY_INT64, 0);
    if (made == nullptr) return nullptr;
    int64_t* to = static_cast<int64_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made)));
    for (npy_intp i = 0; i < size; ++i) to[i * classes + places[i]] = 1;
    return made;
}

}  // namespace

PyMethodDef pick_methods[] = {
    method("pick", pick_, "pick(x, indices) -> x[indices], or None"),
    method("pick_masked", pick_masked, "pick_masked(x, mask) -> the elements where the mask is true, or None"),
    method("pick_rows", pick_rows, "pick_rows(x, index, ...) -> x[index] counted from the front, or None"),
    method("place", place, "place(x, indices, values) -> whether x[indices] = values was done"),
    method("one_hot", one_hot, "one_hot(index, classes), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
