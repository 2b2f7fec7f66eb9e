// Convolution: cross-correlation with windows that may reach into a padding of zeros.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

constexpr int64_t LARGEST = INT32_MAX;

float* floats(const Reference& array) { return static_cast<float*>(PyArray_DATA(array.array())); }

// Sizes of a tuple of as many numbers as there are dimensions, which are the last of three.
bool read_sizes(PyObject* object, int spatial, int64_t least, int64_t* found, const char* what) {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != spatial) {
        PyErr_Format(PyExc_TypeError, "correlate: %s must be a tuple of %d numbers", what, spatial);
        return false;
    }
    for (int d = 0; d < spatial; ++d) {
        const int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(object, d));
        if (value == -1 && PyErr_Occurred()) return false;
        if (value < least || value > LARGEST) {
            PyErr_Format(PyExc_ValueError, "correlate: %lld is no %s", static_cast<long long>(value), what);
            return false;
        }
        found[3 - spatial + d] = value;
    }
    return true;
}

// What a correlation is divided from: samples, groups, and where they begin.
struct Division {
    const ConvTable* table;
    const float *x, *weights, *bias;
    float* result;
    int64_t n, groups, of_sample, of_group, outputs, places;

    const float* group(int64_t g) const { return x + g * of_group; }
    const float* group_bias(int64_t g, const Correlation& s) const {
        return bias == nullptr ? nullptr : bias + g * s.outputs;
    }
    float* group_result(int64_t g, const Correlation& s) const { return result + g * s.outputs * s.output_strides[0]; }
};

bool correlate_along_windows(const Division& all, const Correlation& s) {
    const ConvTable* table = all.table;
    const int64_t columns = all.n * all.places, blocks = (columns + table->lines - 1) / table->lines;
    const int64_t cost = s.depth * (s.outputs + 4);
    Released released(cost > GRAIN);
    parallel(all.groups * blocks, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t first = at % blocks * table->lines, g = at / blocks;
            table->correlate_long(all.group(g), all.weights + g * s.outputs * s.depth, all.group_bias(g, s),
                                  all.group_result(g, s), s, all.of_sample, all.outputs * all.places, first,
                                  std::min(table->lines, columns - first));
        }
    });
    return true;
}

// False with an error where there is no memory for the packed weights.
bool correlate_strips(const Division& all, const Correlation& s) {
    const ConvTable* table = all.table;
    npy_intp size = all.groups * table->packed_size(s.outputs, s.depth);
    Reference packed(PyArray_SimpleNew(1, &size, NPY_FLOAT));
    if (!packed) return false;
    float* ready = floats(packed);
    const int64_t each = size / all.groups;
    const int64_t strips = (all.places + table->strip - 1) / table->strip, cost = s.depth * s.outputs * 8;
    Released released(cost > GRAIN || all.n * all.places > GRAIN / cost);
    for (int64_t g = 0; g < all.groups; ++g)
        table->pack_weights(all.weights + g * s.outputs * s.depth, s.outputs, s.depth, ready + g * each);
    parallel(all.n * all.groups * strips, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t first = at % strips * table->strip, g = at / strips % all.groups;
            const int64_t sample = at / strips / all.groups;
            table->correlate(all.group(g) + sample * all.of_sample, ready + g * each, all.group_bias(g, s),
                             all.group_result(g, s) + sample * all.outputs * all.places, s, first,
                             std::min(table->strip, all.places - first));
        }
    });
    return true;
}

// correlate(x, w, bias, stride, padding, dilation, groups, channels_last, sizes=None) -> (n, outputs, *sizes)
PyObject* correlate(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || (count != 9 && !counted(count, 8, "correlate"))) return refused(names, "correlate");
    PyArrayObject *x = array_of(arguments[0], "correlate", 1), *weights = float_rows(arguments[1], "correlate", 2);
    if (x == nullptr || weights == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(x), spatial = ndim - 2;
    const bool fits = element_of(x) == Element::Float32 && PyArray_ISALIGNED(x) && spatial >= 1 && spatial <= 3 &&
                      PyArray_NDIM(weights) == ndim && PyArray_SIZE(x) > 0 && PyArray_SIZE(weights) > 0;
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "correlate takes elements (n, c, *) and weights (o, c / groups, *) of float32, "
                                         "of 1 to 3 dimensions");
        return nullptr;
    }
    Correlation s{};
    Windows& w = s.windows;
    for (int d = 0; d < 3; ++d) {
        w.input[d] = w.kernel[d] = w.stride[d] = w.dilation[d] = w.output[d] = 1;
        w.padding[d] = 0;
    }
    const int64_t groups = PyLong_AsLongLong(arguments[6]);
    const int innermost = PyObject_IsTrue(arguments[7]);
    const bool sized = count == 9 && arguments[8] != Py_None;
    if (PyErr_Occurred() || !read_sizes(arguments[3], spatial, 1, w.stride, "stride") ||
        !read_sizes(arguments[4], spatial, sized ? -LARGEST : 0, w.padding, "padding") ||
        (sized && !read_sizes(arguments[8], spatial, 0, w.output, "size")) ||
        !read_sizes(arguments[5], spatial, 1, w.dilation, "dilation"))
        return nullptr;
    const int64_t n = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1), outputs = PyArray_DIM(weights, 0);
    const int64_t of_group = PyArray_DIM(weights, 1);
    if (groups < 1 || outputs % groups != 0 || channels != of_group * groups) {
        PyErr_SetString(PyExc_ValueError, "correlate: groups do not divide the channels as the weights say");
        return nullptr;
    }
    npy_intp shape[NPY_MAXDIMS] = {n, outputs};
    for (int d = 3 - spatial; d < 3; ++d) {
        w.input[d] = PyArray_DIM(x, d - 1 + spatial);
        w.kernel[d] = PyArray_DIM(weights, d - 1 + spatial);
        const int64_t reach = w.dilation[d] * (w.kernel[d] - 1) + 1, room = w.input[d] + 2 * w.padding[d];
        if (!sized) w.output[d] = room < reach ? 0 : (room - reach) / w.stride[d] + 1;
        shape[d - 1 + spatial] = w.output[d];
    }
    const float* bias = nullptr;
    if (arguments[2] != Py_None) {
        PyArrayObject* given = float_rows(arguments[2], "correlate", 3);
        if (given == nullptr) return nullptr;
        if (PyArray_SIZE(given) != outputs) {
            PyErr_SetString(PyExc_ValueError, "correlate: there must be a bias for each output");
            return nullptr;
        }
        bias = static_cast<const float*>(PyArray_DATA(given));
    }
    const ConvTable* table = kernels().conv;
    s.outputs = outputs / groups;
    s.depth = of_group * w.kernel[0] * w.kernel[1] * w.kernel[2];
    const int64_t places = w.output[0] * w.output[1] * w.output[2];
    // Windows that are longer than there are places are multiplied along; else products pay where packed windows are
    // used several times.
    const bool lengthy = w.kernel[0] * w.kernel[1] * w.kernel[2] > places, few = s.outputs < 4 && !lengthy;
    const bool rows_of_channels = innermost && !few;
    if (rows_of_channels) std::rotate(shape + 1, shape + 2, shape + ndim);
    Reference result(PyArray_SimpleNew(ndim, shape, NPY_FLOAT));
    if (!result) return nullptr;
    float* to = floats(result);
    const float* factors = static_cast<const float*>(PyArray_DATA(weights));
    if (places != 0 && few) {
        Reference held(PyArray_FROM_OF(arguments[0], NPY_ARRAY_CARRAY_RO));
        if (!held) return nullptr;
        const float* from = floats(held);
        const int64_t plane = w.input[0] * w.input[1] * w.input[2];
        const int64_t cost = std::max<int64_t>(1, places * s.depth / 8);
        Released released(n * outputs * cost > GRAIN);
        parallel(n * outputs, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
            for (int64_t at = begin; at < end; ++at) {
                const int64_t sample = at / outputs, o = at % outputs, group = o / s.outputs;
                table->correlate_rows(from + (sample * channels + group * of_group) * plane, factors + o * s.depth,
                                      bias == nullptr ? 0.f : bias[o], to + at * places, s);
            }
        });
    } else if (places != 0) {
        const int64_t item = PyArray_ITEMSIZE(x), of_sample = PyArray_STRIDE(x, 0) / item;
        s.strides[0] = PyArray_STRIDE(x, 1) / item;
        for (int d = 0; d < 3; ++d)
            s.strides[1 + d] = d < 3 - spatial ? 0 : PyArray_STRIDE(x, d - 1 + spatial) / item;
        s.output_strides[0] = rows_of_channels ? 1 : places;
        s.output_strides[1] = rows_of_channels ? outputs : 1;
        const float* from = static_cast<const float*>(PyArray_DATA(x));
        const Division work = {table, from, factors, bias, to, n, groups, of_sample, of_group * s.strides[0], outputs, places};
        if (lengthy ? !correlate_along_windows(work, s) : !correlate_strips(work, s)) return nullptr;
    }
    if (!rows_of_channels) return result.release();
    npy_intp order[NPY_MAXDIMS] = {0, ndim - 1};
    for (int d = 2; d < ndim; ++d) order[d] = d - 1;
    PyArray_Dims dims = {order, ndim};
    return PyArray_Transpose(result.array(), &dims);
}

}  // namespace

PyMethodDef conv_methods[] = {
    method("correlate", correlate,
           "correlate(x, w, bias, stride, padding, dilation, groups, channels_last, sizes=None) -> (n, outputs, *sizes)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
