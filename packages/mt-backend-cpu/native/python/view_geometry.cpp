// Views of other sizes and strides, of arrays of any layout. What returns None here is the core's to decide: arrays and
// views without elements, whose place NumPy forgets, and whatever is refused.
#include <utility>

#include "python/bindings.hpp"

namespace mt {
namespace {

// Sizes and strides (in bytes) that a view is to have, and where it begins.
struct Geometry {
    int ndim = 0;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    npy_intp offset = 0;

    bool add(npy_intp size, npy_intp stride) {
        if (ndim == NPY_MAXDIMS) return false;
        shape[ndim] = size;
        strides[ndim++] = stride;
        return true;
    }
};

// A view of an array that has elements; its elements must lie within the array's memory.
PyObject* viewed(PyArrayObject* x, const Geometry& g) {
    for (int d = 0; d < g.ndim; ++d)
        if (g.shape[d] == 0) Py_RETURN_NONE;
    PyArray_Descr* descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    Reference made(PyArray_NewFromDescr(&PyArray_Type, descr, g.ndim, g.shape, g.strides, PyArray_BYTES(x) + g.offset,
                                        PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, nullptr));
    if (!made || PyArray_SetBaseObject(made.array(), Py_NewRef(reinterpret_cast<PyObject*>(x))) < 0) return nullptr;
    return made.release();
}

// The array, if it is one that has elements; others may stand for arrays.
PyArrayObject* elements_of(PyObject* object) {
    if (!PyArray_Check(object)) return nullptr;
    PyArrayObject* x = reinterpret_cast<PyArrayObject*>(object);
    return PyArray_SIZE(x) ? x : nullptr;
}

Geometry of(PyArrayObject* x) {
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d) g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
    return g;
}

bool integer(PyObject* object, long long* number) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

// A dimension counted from the front.
bool dimension(PyObject* object, int ndim, int* dim) {
    long long number;
    if (!integer(object, &number) || number < -ndim || number >= ndim) return false;
    *dim = static_cast<int>(number < 0 ? number + ndim : number);
    return true;
}

// A list or tuple, whose items are borrowed.
bool items_of(PyObject* object, PyObject*** items, Py_ssize_t* count) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
    *items = PySequence_Fast_ITEMS(object);
    *count = Py_SIZE(object);
    return *count <= NPY_MAXDIMS;
}

// A bound of a slice, moved inside; `absent` where there is none.
bool bound(PyObject* object, npy_intp size, npy_intp absent, npy_intp* found) {
    if (object == Py_None) {
        *found = absent;
        return true;
    }
    if (!PyLong_CheckExact(object)) return false;
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) number = overflow < 0 ? -size : size;
    if (number < 0) number = number < -size ? 0 : number + size;
    *found = number > size ? size : static_cast<npy_intp>(number);
    return true;
}

// Enters a slice of a dimension; false where it is the core's.
bool sliced(Geometry& g, npy_intp size, npy_intp stride, PyObject* start, PyObject* stop, PyObject* step) {
    npy_intp first, last;
    long long by = 1;
    if (step != Py_None && (!integer(step, &by) || by <= 0)) return false;
    if (!bound(start, size, 0, &first) || !bound(stop, size, size, &last) || last <= first) return false;
    if (by > size) by = size;  // of which no more than the first element is left, as of any larger one
    g.offset += first * stride;
    const long long given = step == Py_None ? 1 : PyLong_AsLongLong(step);
    if (given > NPY_MAX_INTP / (stride < 0 ? -stride : stride ? stride : 1)) return false;
    return g.add((last - first + by - 1) / by, stride * static_cast<npy_intp>(given));
}

bool selected(Geometry& g, npy_intp size, npy_intp stride, PyObject* index) {
    long long at;
    if (!integer(index, &at) || at < -size || at >= size) return false;
    g.offset += static_cast<npy_intp>(at < 0 ? at + size : at) * stride;
    return true;
}

// basic_index(x, key): the key an integer, a slice, None, Ellipsis, or a tuple of them.
PyObject* basic_index(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "basic_index")) return refused(names, "basic_index");
    PyArrayObject* x = elements_of(arguments[0]);
    if (x == nullptr) Py_RETURN_NONE;
    PyObject* one = arguments[1];
    PyObject** items = &one;
    Py_ssize_t many = 1;
    if (PyTuple_CheckExact(one)) {
        items = PySequence_Fast_ITEMS(arguments[1]);
        many = PyTuple_GET_SIZE(arguments[1]);
    }
    const int ndim = PyArray_NDIM(x);
    int used = 0, dots = 0;
    for (Py_ssize_t i = 0; i < many; ++i) {
        if (items[i] == Py_Ellipsis)
            ++dots;
        else if (PyLong_CheckExact(items[i]) || PySlice_Check(items[i]))
            ++used;
        else if (items[i] != Py_None)
            Py_RETURN_NONE;
        if (used > ndim || dots > 1) Py_RETURN_NONE;
    }
    Geometry g;
    int d = 0;
    for (Py_ssize_t i = 0; i < many; ++i) {
        PyObject* item = items[i];
        bool entered = true;
        if (item == Py_None) {
            // As `unsqueeze`, of the view that the parts before it have made.
            entered = g.add(1, d < ndim ? PyArray_DIM(x, d) * PyArray_STRIDE(x, d) : PyArray_ITEMSIZE(x));
        } else if (item == Py_Ellipsis) {
            for (int kept = ndim - used; kept > 0 && entered; --kept, ++d)
                entered = g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
        } else if (PySlice_Check(item)) {
            PySliceObject* slice = reinterpret_cast<PySliceObject*>(item);
            entered = sliced(g, PyArray_DIM(x, d), PyArray_STRIDE(x, d), slice->start, slice->stop, slice->step);
            ++d;
        } else {
            entered = selected(g, PyArray_DIM(x, d), PyArray_STRIDE(x, d), item);
            ++d;
        }
        if (!entered) Py_RETURN_NONE;
    }
    for (; d < ndim; ++d)
        if (!g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d))) Py_RETURN_NONE;
    return viewed(x, g);
}

// select(x, dim, index)
PyObject* select(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "select")) return refused(names, "select");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x), &dim)) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d)
        if (d == dim ? !selected(g, PyArray_DIM(x, d), PyArray_STRIDE(x, d), arguments[2])
                     : !g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d)))
            Py_RETURN_NONE;
    return viewed(x, g);
}

// slice(x, dim, start, end, step)
PyObject* slice(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "slice")) return refused(names, "slice");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    if (x == nullptr || arguments[4] == Py_None || !dimension(arguments[1], PyArray_NDIM(x), &dim)) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d) {
        const npy_intp size = PyArray_DIM(x, d), stride = PyArray_STRIDE(x, d);
        if (d == dim ? !sliced(g, size, stride, arguments[2], arguments[3], arguments[4]) : !g.add(size, stride))
            Py_RETURN_NONE;
    }
    return viewed(x, g);
}

// expand(x, sizes, implicit)
PyObject* expand(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "expand")) return refused(names, "expand");
    PyArrayObject* x = elements_of(arguments[0]);
    PyObject** sizes;
    Py_ssize_t many;
    if (x == nullptr || !items_of(arguments[1], &sizes, &many) || many < PyArray_NDIM(x)) Py_RETURN_NONE;
    const Py_ssize_t lead = many - PyArray_NDIM(x);
    Geometry g;
    g.ndim = static_cast<int>(many);
    npy_intp bytes = PyArray_ITEMSIZE(x), reach = bytes;
    if (bytes == 0) Py_RETURN_NONE;
    for (Py_ssize_t i = many - 1; i >= 0; --i) {
        long long wanted;
        if (!integer(sizes[i], &wanted) || wanted == 0 || wanted < -1 || (wanted == -1 && i < lead)) Py_RETURN_NONE;
        const npy_intp have = i < lead ? 1 : PyArray_DIM(x, static_cast<int>(i - lead));
        npy_intp stride = i < lead ? reach : PyArray_STRIDE(x, static_cast<int>(i - lead));
        if (wanted == -1) wanted = have;
        if (PyArray_NDIM(x) == 0) stride = 0;
        if (wanted != have) {
            if (have != 1) Py_RETURN_NONE;
            stride = 0;
        }
        if (wanted > NPY_MAX_INTP / bytes) Py_RETURN_NONE;  // NumPy counts no more bytes
        bytes *= static_cast<npy_intp>(wanted);
        g.shape[i] = static_cast<npy_intp>(wanted);
        g.strides[i] = stride;
        reach = g.shape[i] * stride;  // as far a new dimension before it steps
    }
    return viewed(x, g);
}

// permute(x, dims)
PyObject* permute(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "permute")) return refused(names, "permute");
    PyArrayObject* x = elements_of(arguments[0]);
    PyObject** dims;
    Py_ssize_t many;
    if (x == nullptr || !items_of(arguments[1], &dims, &many) || many != PyArray_NDIM(x)) Py_RETURN_NONE;
    Geometry g;
    bool taken[NPY_MAXDIMS] = {};
    for (Py_ssize_t i = 0; i < many; ++i) {
        int d;
        if (!dimension(dims[i], PyArray_NDIM(x), &d) || taken[d]) Py_RETURN_NONE;
        taken[d] = true;
        g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
    }
    return viewed(x, g);
}

PyObject* exchanged(PyArrayObject* x, int a, int b) {
    Geometry g = of(x);
    std::swap(g.shape[a], g.shape[b]);
    std::swap(g.strides[a], g.strides[b]);
    return viewed(x, g);
}

// transpose(x, dim0, dim1)
PyObject* transpose(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "transpose")) return refused(names, "transpose");
    PyArrayObject* x = elements_of(arguments[0]);
    int a, b;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x), &a) || !dimension(arguments[2], PyArray_NDIM(x), &b))
        Py_RETURN_NONE;
    return exchanged(x, a, b);
}

// unsqueeze(x, dim)
PyObject* unsqueeze(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "unsqueeze")) return refused(names, "unsqueeze");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x) + 1, &dim)) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d <= PyArray_NDIM(x); ++d) {
        const bool inside = d < PyArray_NDIM(x);
        if (d == dim && !g.add(1, inside ? PyArray_DIM(x, d) * PyArray_STRIDE(x, d) : PyArray_ITEMSIZE(x)))
            Py_RETURN_NONE;
        if (inside && !g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d))) Py_RETURN_NONE;
    }
    return viewed(x, g);
}

// t(x)
PyObject* t(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "t")) return refused(names, "t");
    PyArrayObject* x = elements_of(arguments[0]);
    if (x == nullptr || PyArray_NDIM(x) > 2) Py_RETURN_NONE;
    return PyArray_NDIM(x) == 2 ? exchanged(x, 0, 1) : viewed(x, of(x));
}

// squeeze(x): all dimensions of size 1 dropped.
PyObject* squeeze(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "squeeze")) return refused(names, "squeeze");
    PyArrayObject* x = elements_of(arguments[0]);
    if (x == nullptr) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d)
        if (PyArray_DIM(x, d) != 1) g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
    return viewed(x, g);
}

// squeeze_dim(x, dim)
PyObject* squeeze_dim(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "squeeze_dim")) return refused(names, "squeeze_dim");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x), &dim)) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d)
        if (d != dim || PyArray_DIM(x, d) != 1) g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
    return viewed(x, g);
}

// diagonal(x, offset, dim1, dim2): the diagonal of two dimensions, which is the last of the view.
PyObject* diagonal(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "diagonal")) return refused(names, "diagonal");
    PyArrayObject* x = elements_of(arguments[0]);
    int a, b;
    long long above;
    if (x == nullptr || !integer(arguments[1], &above) || !dimension(arguments[2], PyArray_NDIM(x), &a) ||
        !dimension(arguments[3], PyArray_NDIM(x), &b) || a == b)
        Py_RETURN_NONE;
    npy_intp rows = PyArray_DIM(x, a), columns = PyArray_DIM(x, b);
    if (above >= columns || above <= -rows) Py_RETURN_NONE;
    Geometry g;
    for (int d = 0; d < PyArray_NDIM(x); ++d)
        if (d != a && d != b) g.add(PyArray_DIM(x, d), PyArray_STRIDE(x, d));
    if (above >= 0) {
        columns -= static_cast<npy_intp>(above);
        g.offset = static_cast<npy_intp>(above) * PyArray_STRIDE(x, b);
    } else {
        rows += static_cast<npy_intp>(above);
        g.offset = static_cast<npy_intp>(-above) * PyArray_STRIDE(x, a);
    }
    g.add(rows < columns ? rows : columns, PyArray_STRIDE(x, a) + PyArray_STRIDE(x, b));
    return viewed(x, g);
}

// unfold(x, dim, size, step): windows along a dimension, whose elements are the last dimension of the view.
PyObject* unfold(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "unfold")) return refused(names, "unfold");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    long long size, step;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x), &dim) || !integer(arguments[2], &size) ||
        !integer(arguments[3], &step) || size < 1 || step < 1 || size > PyArray_DIM(x, dim) ||
        step > PyArray_DIM(x, dim))
        Py_RETURN_NONE;
    Geometry g = of(x);
    const npy_intp stride = g.strides[dim];
    g.shape[dim] = (g.shape[dim] - static_cast<npy_intp>(size)) / static_cast<npy_intp>(step) + 1;
    g.strides[dim] = stride * static_cast<npy_intp>(step);
    if (!g.add(static_cast<npy_intp>(size), stride)) Py_RETURN_NONE;
    return viewed(x, g);
}

// A list of parts of a dimension.
template <class Next>
PyObject* parts(PyArrayObject* x, int dim, npy_intp count, bool drops, Next next) {
    Reference made(PyList_New(count));
    npy_intp begin = 0;
    for (npy_intp i = 0; made && i < count; ++i) {
        const npy_intp size = next(i, begin);
        Geometry g;
        for (int d = 0; d < PyArray_NDIM(x); ++d)
            if (d != dim || !drops) g.add(d == dim ? size : PyArray_DIM(x, d), PyArray_STRIDE(x, d));
        g.offset = begin * PyArray_STRIDE(x, dim);
        PyObject* part = viewed(x, g);
        if (part == nullptr) return nullptr;
        PyList_SET_ITEM(made.get(), i, part);
        begin += size;
    }
    return made.release();
}

// unbind(x, dim)
PyObject* unbind(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "unbind")) return refused(names, "unbind");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    if (x == nullptr || !dimension(arguments[1], PyArray_NDIM(x), &dim)) Py_RETURN_NONE;
    return parts(x, dim, PyArray_DIM(x, dim), true, [](npy_intp, npy_intp) { return npy_intp(1); });
}

// split(x, size, dim): the last part may be smaller.
PyObject* split(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "split")) return refused(names, "split");
    PyArrayObject* x = elements_of(arguments[0]);
    int dim;
    long long each;
    if (x == nullptr || !integer(arguments[1], &each) || each < 1 || !dimension(arguments[2], PyArray_NDIM(x), &dim))
        Py_RETURN_NONE;
    const npy_intp size = PyArray_DIM(x, dim), wanted = each > size ? size : static_cast<npy_intp>(each);
    return parts(x, dim, (size + wanted - 1) / wanted, false,
                 [=](npy_intp, npy_intp begin) { return size - begin < wanted ? size - begin : wanted; });
}

// split_sizes(x, sizes, dim): the sizes add up to the dimension's.
PyObject* split_sizes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "split_sizes")) return refused(names, "split_sizes");
    PyArrayObject* x = elements_of(arguments[0]);
    PyObject* sizes = arguments[1];
    int dim;
    if (x == nullptr || (!PyTuple_Check(sizes) && !PyList_Check(sizes)) ||
        !dimension(arguments[2], PyArray_NDIM(x), &dim))
        Py_RETURN_NONE;
    npy_intp left = PyArray_DIM(x, dim);
    for (Py_ssize_t i = 0; i < Py_SIZE(sizes); ++i) {
        long long size;
        if (!integer(PySequence_Fast_ITEMS(sizes)[i], &size) || size < 1 || size > left) Py_RETURN_NONE;
        left -= static_cast<npy_intp>(size);
    }
    if (left) Py_RETURN_NONE;
    return parts(x, dim, Py_SIZE(sizes), false, [=](npy_intp i, npy_intp) {
        return static_cast<npy_intp>(PyLong_AsLongLong(PySequence_Fast_ITEMS(sizes)[i]));
    });
}

}  // namespace

PyMethodDef geometry_methods[] = {
    method("basic_index", basic_index, "basic_index(x, key), or None"),
    method("select", select, "select(x, dim, index), or None"),
    method("slice", slice, "slice(x, dim, start, end, step), or None"),
    method("expand", expand, "expand(x, sizes, implicit), or None"),
    method("permute", permute, "permute(x, dims), or None"),
    method("transpose", transpose, "transpose(x, dim0, dim1), or None"),
    method("t", t, "t(x), or None"),
    method("unsqueeze", unsqueeze, "unsqueeze(x, dim), or None"),
    method("squeeze", squeeze, "squeeze(x), or None"),
    method("squeeze_dim", squeeze_dim, "squeeze_dim(x, dim), or None"),
    method("diagonal", diagonal, "diagonal(x, offset, dim1, dim2), or None"),
    method("unfold", unfold, "unfold(x, dim, size, step), or None"),
    method("unbind", unbind, "unbind(x, dim), or None"),
    method("split", split, "split(x, size, dim), or None"),
    method("split_sizes", split_sizes, "split_sizes(x, sizes, dim), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
