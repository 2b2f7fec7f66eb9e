// Pooling over the last dimensions of arrays that lie plane by plane, or with their channels innermost.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

constexpr int64_t LARGEST = INT32_MAX;

// What a pool works on: planes of up to three dimensions, or rows of channels.
struct Pooled {
    Reference held{nullptr};
    const float* data = nullptr;
    bool by_rows = false;
    // Planes; by rows, how many items of `channels` planes each.
    int64_t lead = 1, channels = 1;
    int spatial = 0, ndim = 0;
    npy_intp shape[NPY_MAXDIMS];
    Windows windows;

    int64_t plane() const { return windows.input[0] * windows.input[1] * windows.input[2]; }
    int64_t outputs() const { return windows.output[0] * windows.output[1] * windows.output[2]; }
};

// Reads `geometry`: for each spatial dimension the sizes of the output, the kernel, its stride, padding and dilation;
// or of the output alone.
bool read_geometry(PyObject* geometry, Pooled& found, bool adaptive, const char* function) {
    const Py_ssize_t groups = adaptive ? 1 : 5;
    const Py_ssize_t count = PyTuple_Check(geometry) ? PyTuple_GET_SIZE(geometry) : 0;
    found.spatial = static_cast<int>(count / groups);
    if (count % groups != 0 || found.spatial < 1 || found.spatial > 3) {
        PyErr_Format(PyExc_TypeError, "%s: the geometry must be a tuple of %zd numbers for each of 1 to 3 dimensions",
                     function, groups);
        return false;
    }
    Windows& w = found.windows;
    int64_t* into[5] = {w.output, w.kernel, w.stride, w.padding, w.dilation};
    for (int group = 0; group < 5; ++group)
        for (int d = 0; d < 3; ++d) into[group][d] = group == 3 ? 0 : 1;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const int group = static_cast<int>(i / found.spatial), d = static_cast<int>(i % found.spatial);
        const int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(geometry, i));
        if (value == -1 && PyErr_Occurred()) return false;
        const bool may_be_none = group == 0 || group == 3;
        if (value < (may_be_none ? 0 : 1) || value > LARGEST) {
            PyErr_Format(PyExc_ValueError, "%s: %lld is no size of a window", function, static_cast<long long>(value));
            return false;
        }
        into[group][3 - found.spatial + d] = value;
    }
    return true;
}

// Takes in an array: as it is where it lies plane by plane or by rows of channels, else as a row-major copy.
bool read_array(PyObject* object, Pooled& found, bool rows_allowed, const char* function) {
    PyArrayObject* x = array_of(object, function, 1);
    if (x == nullptr) return false;
    const int ndim = PyArray_NDIM(x);
    if (element_of(x) != Element::Float32 || ndim < found.spatial) {
        PyErr_Format(PyExc_TypeError, "%s takes an array of float32 with at least %d dimensions", function,
                     found.spatial);
        return false;
    }
    found.by_rows = rows_allowed && !PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISALIGNED(x) &&
                    ndim == found.spatial + 2 && channels_innermost(x);
    Py_INCREF(x);
    PyObject* array = reinterpret_cast<PyObject*>(x);
    if (!found.by_rows && !PyArray_ISCARRAY_RO(x)) {
        Py_DECREF(x);
        array = PyArray_FROM_OF(object, NPY_ARRAY_CARRAY_RO);
        if (array == nullptr) return false;
    }
    found.held.reset(array);
    found.data = static_cast<const float*>(PyArray_DATA(found.held.array()));
    found.ndim = ndim;
    for (int d = 0; d < ndim; ++d) found.shape[d] = PyArray_DIM(x, d);
    for (int d = 0; d < 3; ++d)
        found.windows.input[d] = d < 3 - found.spatial ? 1 : PyArray_DIM(x, ndim - 3 + d);
    for (int d = 0; d < ndim - found.spatial; ++d) found.lead *= PyArray_DIM(x, d);
    if (found.by_rows) {
        found.channels = PyArray_DIM(x, 1);
        found.lead = PyArray_DIM(x, 0);
    }
    if (PyArray_SIZE(x) != 0 && PyArray_SIZE(x) / (found.lead * found.channels) > LARGEST) {
        PyErr_Format(PyExc_ValueError, "%s: planes of 2^31 elements or more", function);
        return false;
    }
    return true;
}

// A new array of the array's layout, with these sizes of the last dimensions; of rows, its memory has channels last.
PyObject* new_result(const Pooled& given, const int64_t* sizes, int type) {
    npy_intp shape[NPY_MAXDIMS];
    std::copy(given.shape, given.shape + given.ndim, shape);
    for (int d = 0; d < given.spatial; ++d) shape[given.ndim - given.spatial + d] = sizes[3 - given.spatial + d];
    if (!given.by_rows) return new_array(given.ndim, shape, type);
    npy_intp order[NPY_MAXDIMS];
    std::rotate(shape + 1, shape + 2, shape + given.ndim);
    Reference made(new_array(given.ndim, shape, type));
    if (!made) return nullptr;
    order[0] = 0;
    order[1] = given.ndim - 1;
    for (int d = 2; d < given.ndim; ++d) order[d] = d - 1;
    PyArray_Dims dims = {order, given.ndim};
    return PyArray_Transpose(made.array(), &dims);
}

int64_t share(int64_t cost) { return cost >= GRAIN ? 1 : GRAIN / std::max<int64_t>(cost, 1) + 1; }

int64_t cost_of(const Windows& w) { return w.kernel[0] * w.kernel[1] * w.kernel[2]; }

// max_pool(x, geometry, places) -> values, or (values, places)
PyObject* max_pool(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "max_pool")) return refused(names, "max_pool");
    const int wanted = PyObject_IsTrue(arguments[2]);
    Pooled given;
    if (wanted < 0 || !read_geometry(arguments[1], given, false, "max_pool") ||
        !read_array(arguments[0], given, true, "max_pool"))
        return nullptr;
    const Windows& w = given.windows;
    Reference values(new_result(given, w.output, NPY_FLOAT));
    Reference places(wanted && values ? new_result(given, w.output, NPY_INT64) : nullptr);
    if (!values || (wanted && !places)) return nullptr;
    float* to = static_cast<float*>(PyArray_DATA(values.array()));
    int64_t* found = wanted ? static_cast<int64_t*>(PyArray_DATA(places.array())) : nullptr;
    const PoolTable* table = kernels().pool;
    const int64_t size = PyArray_SIZE(values.array()), outputs = given.outputs(), plane = given.plane();
    if (size != 0) {
        Released released(size * cost_of(w) > GRAIN);
        if (given.by_rows) {
            parallel(given.lead * w.output[0] * w.output[1], share(w.output[2] * given.channels * cost_of(w)),
                     [&](int64_t begin, int64_t end) {
                         table->max_rows(given.data, to, found, w, given.channels, begin, end);
                     });
        } else {
            parallel(given.lead, share(outputs * cost_of(w)), [&](int64_t begin, int64_t end) {
                table->max_planes(given.data + begin * plane, to + begin * outputs,
                                  found == nullptr ? nullptr : found + begin * outputs, w, end - begin);
            });
        }
    }
    return wanted ? PyTuple_Pack(2, values.get(), places.get()) : values.release();
}

bool read_divisor(PyObject* with_padding, PyObject* number, Divisor& divisor) {
    const int padded = PyObject_IsTrue(with_padding);
    divisor = {number != Py_None, padded > 0, 0};
    if (divisor.fixed) divisor.number = PyLong_AsLongLong(number);
    return padded >= 0 && !PyErr_Occurred();
}

bool without_dilation(const Windows& w, const char* function) {
    if (w.dilation[0] == 1 && w.dilation[1] == 1 && w.dilation[2] == 1) return true;
    PyErr_Format(PyExc_ValueError, "%s: windows of means have no dilation", function);
    return false;
}

// avg_pool(x, geometry, with_padding, divisor) -> means
PyObject* avg_pool(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "avg_pool")) return refused(names, "avg_pool");
    Divisor divisor;
    Pooled given;
    if (!read_divisor(arguments[2], arguments[3], divisor) || !read_geometry(arguments[1], given, false, "avg_pool") ||
        !without_dilation(given.windows, "avg_pool") || !read_array(arguments[0], given, true, "avg_pool"))
        return nullptr;
    const Windows& w = given.windows;
    Reference result(new_result(given, w.output, NPY_FLOAT));
    if (!result || PyArray_SIZE(result.array()) == 0) return result.release();
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const PoolTable* table = kernels().pool;
    const int64_t outputs = given.outputs(), plane = given.plane();
    Released released(PyArray_SIZE(result.array()) * cost_of(w) > GRAIN);
    if (given.by_rows) {
        parallel(given.lead * w.output[0] * w.output[1], share(w.output[2] * given.channels * cost_of(w)),
                 [&](int64_t begin, int64_t end) {
                     table->mean_rows(given.data, to, w, divisor, given.channels, begin, end);
                 });
    } else {
        parallel(given.lead, share(outputs * cost_of(w)), [&](int64_t begin, int64_t end) {
            table->mean_planes(given.data + begin * plane, to + begin * outputs, w, divisor, end - begin);
        });
    }
    return result.release();
}

// Reads what a gradient is of: the sizes of the last dimensions of the input.
bool read_sizes(PyObject* sizes, Pooled& found, int64_t* input, const char* function) {
    Pooled read;
    if (!read_geometry(sizes, read, true, function)) return false;
    if (read.spatial == found.spatial) {
        std::copy(read.windows.output, read.windows.output + 3, input);
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%s: the sizes must be of %d dimensions", function, found.spatial);
    return false;
}

// Turns what was read of the gradient around: its sizes are those of the output.
bool of_gradient(Pooled& given, const int64_t* input, const char* function) {
    Windows& w = given.windows;
    for (int d = 0; d < 3; ++d) {
        if (w.input[d] != w.output[d]) {
            PyErr_Format(PyExc_ValueError, "%s: the gradient does not have the sizes of the geometry", function);
            return false;
        }
        w.input[d] = input[d];
    }
    return true;
}

// avg_pool_backward(grad, geometry, sizes, with_padding, divisor) -> gradient with these sizes
PyObject* avg_pool_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "avg_pool_backward";
    if (names != nullptr || !counted(count, 5, name)) return refused(names, name);
    Divisor divisor;
    Pooled given;
    int64_t input[3];
    if (!read_divisor(arguments[3], arguments[4], divisor) || !read_geometry(arguments[1], given, false, name) ||
        !without_dilation(given.windows, name) || !read_array(arguments[0], given, false, name) ||
        !read_sizes(arguments[2], given, input, name) || !of_gradient(given, input, name))
        return nullptr;
    const Windows& w = given.windows;
    Reference result(new_result(given, input, NPY_FLOAT));
    if (!result || PyArray_SIZE(result.array()) == 0) return result.release();
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const auto f = kernels().pool->mean_planes_backward;
    const int64_t outputs = given.outputs(), plane = given.plane();
    Released released(PyArray_SIZE(result.array()) > GRAIN);
    parallel(given.lead, share(plane + outputs * cost_of(w)), [&](int64_t begin, int64_t end) {
        f(given.data + begin * outputs, to + begin * plane, w, divisor, end - begin);
    });
    return result.release();
}

// adaptive_max_pool(x, sizes) -> (values, places)
PyObject* adaptive_max_pool(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "adaptive_max_pool")) return refused(names, "adaptive_max_pool");
    Pooled given;
    if (!read_geometry(arguments[1], given, true, "adaptive_max_pool") ||
        !read_array(arguments[0], given, false, "adaptive_max_pool"))
        return nullptr;
    const Windows& w = given.windows;
    Reference values(new_result(given, w.output, NPY_FLOAT)), places(new_result(given, w.output, NPY_INT64));
    if (!values || !places) return nullptr;
    float* to = static_cast<float*>(PyArray_DATA(values.array()));
    int64_t* found = static_cast<int64_t*>(PyArray_DATA(places.array()));
    const auto f = kernels().pool->adaptive_max;
    const int64_t outputs = given.outputs(), plane = given.plane();
    if (PyArray_SIZE(values.array()) != 0) {
        Released released(given.lead * plane > GRAIN);
        parallel(given.lead, share(plane + outputs), [&](int64_t begin, int64_t end) {
            f(given.data + begin * plane, to + begin * outputs, found + begin * outputs, w, end - begin);
        });
    }
    return PyTuple_Pack(2, values.get(), places.get());
}

// adaptive_avg_pool(x, sizes) -> means
PyObject* adaptive_avg_pool(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "adaptive_avg_pool")) return refused(names, "adaptive_avg_pool");
    Pooled given;
    if (!read_geometry(arguments[1], given, true, "adaptive_avg_pool") ||
        !read_array(arguments[0], given, false, "adaptive_avg_pool"))
        return nullptr;
    const Windows& w = given.windows;
    Reference result(new_result(given, w.output, NPY_FLOAT));
    if (!result || PyArray_SIZE(result.array()) == 0) return result.release();
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const auto f = kernels().pool->adaptive_mean;
    const int64_t outputs = given.outputs(), plane = given.plane();
    Released released(given.lead * plane > GRAIN);
    parallel(given.lead, share(plane + outputs), [&](int64_t begin, int64_t end) {
        f(given.data + begin * plane, to + begin * outputs, w, end - begin);
    });
    return result.release();
}

// adaptive_avg_pool_backward(grad, sizes) -> gradient with these sizes
PyObject* adaptive_avg_pool_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "adaptive_avg_pool_backward";
    if (names != nullptr || !counted(count, 2, name)) return refused(names, name);
    Pooled given;
    int64_t input[3];
    if (!read_geometry(arguments[1], given, true, name)) return nullptr;
    std::copy(given.windows.output, given.windows.output + 3, input);
    if (!read_array(arguments[0], given, false, name)) return nullptr;
    Windows& w = given.windows;
    std::copy(w.input, w.input + 3, w.output);
    std::copy(input, input + 3, w.input);
    Reference result(new_result(given, input, NPY_FLOAT));
    if (!result || PyArray_SIZE(result.array()) == 0) return result.release();
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const auto f = kernels().pool->adaptive_mean_backward;
    const int64_t outputs = given.outputs(), plane = given.plane();
    Released released(given.lead * plane > GRAIN);
    parallel(given.lead, share(plane + outputs), [&](int64_t begin, int64_t end) {
        f(given.data + begin * outputs, to + begin * plane, w, end - begin);
    });
    return result.release();
}

}  // namespace

PyMethodDef pool_methods[] = {
    method("max_pool", max_pool, "max_pool(x, geometry, places) -> values, or (values, places)"),
    method("avg_pool", avg_pool, "avg_pool(x, geometry, with_padding, divisor) -> means"),
    method("avg_pool_backward", avg_pool_backward,
           "avg_pool_backward(grad, geometry, sizes, with_padding, divisor) -> gradient"),
    method("adaptive_max_pool", adaptive_max_pool, "adaptive_max_pool(x, sizes) -> (values, places)"),
    method("adaptive_avg_pool", adaptive_avg_pool, "adaptive_avg_pool(x, sizes) -> means"),
    method("adaptive_avg_pool_backward", adaptive_avg_pool_backward,
           "adaptive_avg_pool_backward(grad, sizes) -> gradient"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
