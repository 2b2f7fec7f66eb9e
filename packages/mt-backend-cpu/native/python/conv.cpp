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

// Where windows of one element, or of all elements, take every row whole, rows are one.
void join_rows(Correlation& s) {
    Windows& w = s.windows;
    for (int d = 1; d >= 0; --d) {
        const bool plain = w.padding[2] == 0 && w.padding[d] == 0 && w.input[2] * s.strides[3] == s.strides[1 + d];
        const bool places = w.kernel[2] == 1 && w.kernel[d] == 1 && w.stride[2] == 1 && w.stride[d] == 1 &&
                            w.output[2] == w.input[2] && w.output[d] == w.input[d];
        const bool elements = w.output[2] == 1 && w.output[d] == 1 && w.dilation[2] == 1 && w.dilation[d] == 1 &&
                              w.kernel[2] == w.input[2] && w.kernel[d] == w.input[d] &&
                              w.kernel[2] * s.weight_strides[4] == s.weight_strides[2 + d];
        if (w.input[d] == 1 && w.kernel[d] == 1 && w.output[d] == 1 && w.padding[d] == 0) continue;
        if (!plain || (!places && !elements)) return;
        for (int64_t* sizes : {w.input, w.output, w.kernel}) {
            sizes[2] *= sizes[d];
            sizes[d] = 1;
        }
    }
}

// What a correlation is divided from.
struct Division {
    const ConvTable* table;
    const float *x, *weights, *bias;
    float* result;
    // Elements of the result; from one group to the next, of the input and of the weights.
    int64_t size, groups, of_group, of_weights;
};

// How many parts of a cost are worked at together.
int64_t grain_of(int64_t cost) { return cost >= GRAIN ? 1 : GRAIN / cost + 1; }

constexpr int64_t TASKS = 8, SMALL = 1 << 18;

// Into how many sums the terms are divided: where there are few columns, and many terms, each is worked at alone. What follows
// from the sizes alone, so that the order of a sum does not depend on the number of threads.
int64_t sums_of(const Division& all, const Correlation& s, int64_t columns) {
    const int64_t tasks = all.groups * ((columns + all.table->strip - 1) / all.table->strip);
    if (tasks >= TASKS || all.size > SMALL) return 1;
    return std::max<int64_t>(1, std::min(TASKS / tasks, s.depth / (8 * all.table->step)));
}

// False with an error where there is no memory for the packed weights, or for sums.
bool correlate_strips(const Division& all, const Correlation& s, int64_t columns) {
    const ConvTable* table = all.table;
    const int64_t each = table->packed_size(s.outputs, s.depth), tiles = (s.outputs + table->height - 1) / table->height;
    const int64_t strips = (columns + table->strip - 1) / table->strip, sums = sums_of(all, s, columns);
    const int64_t terms = ((s.depth + sums - 1) / sums + table->step - 1) / table->step * table->step;
    npy_intp size = all.groups * each, others = (sums - 1) * all.size;
    Reference packed(new_array(1, &size, NPY_FLOAT));
    Reference more(others == 0 ? nullptr : new_array(1, &others, NPY_FLOAT));
    if (!packed || (others != 0 && !more)) return false;
    float* ready = floats(packed);
    float* rest = others == 0 ? nullptr : floats(more);
    // Windows are packed for each block of outputs again: these are divided only where threads would have nothing to do.
    const int64_t tasks = all.groups * strips * sums;
    const int64_t blocks = num_threads() == 1 || tasks >= 4 ? 1 : std::max<int64_t>(1, std::min(tiles / 4, 4 / tasks));
    const int64_t high = (tiles + blocks - 1) / blocks * table->height;
    const int64_t cost = std::max<int64_t>(1, terms * high * 8), packing = s.depth * table->height;
    Released released(cost > GRAIN || tasks * blocks > GRAIN / cost);
    parallel(all.groups * tiles, grain_of(packing), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t g = at / tiles, tile = at % tiles;
            table->pack_weights(all.weights + g * all.of_weights, s, tile, tile + 1, ready + g * each);
        }
    });
    parallel(tasks * blocks, grain_of(cost), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t block = at % blocks, first = at / blocks % strips * table->strip;
            const int64_t sum = at / blocks / strips % sums, g = at / blocks / strips / sums;
            const CorrelationPart part = {first, std::min(table->strip, columns - first), block * high,
                                          std::min(s.outputs, (block + 1) * high), sum * terms,
                                          std::min(s.depth, (sum + 1) * terms)};
            if (part.from_output >= part.to_output) continue;
            float* to = (sum == 0 ? all.result : rest + (sum - 1) * all.size) + g * s.outputs * s.output_strides[0];
            table->correlate(all.x + g * all.of_group, ready + g * each,
                             all.bias == nullptr ? nullptr : all.bias + g * s.outputs, to, s, part);
        }
    });
    if (sums == 1) return true;
    parallel(all.size, GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t sum = 0; sum < sums - 1; ++sum)
            kernels().elementwise->add(all.result + begin, rest + sum * all.size + begin, all.result + begin, end - begin);
    });
    return true;
}

// Each output of each sample by itself; false with an error where there is no memory for row-major copies.
bool correlate_rows(PyObject* x, PyObject* weights, const Division& all, const Correlation& s) {
    Reference held(PyArray_FROM_OF(x, NPY_ARRAY_CARRAY_RO)), rows(PyArray_FROM_OF(weights, NPY_ARRAY_CARRAY_RO));
    if (!held || !rows) return false;
    const Windows& w = s.windows;
    const float *from = floats(held), *factors = floats(rows);
    const int64_t plane = w.input[0] * w.input[1] * w.input[2], places = w.output[0] * w.output[1] * w.output[2];
    const int64_t of_group = s.depth / (w.kernel[0] * w.kernel[1] * w.kernel[2]), outputs = all.groups * s.outputs;
    const int64_t cost = std::max<int64_t>(1, places * s.depth / 8);
    Released released(s.samples * outputs * cost > GRAIN);
    parallel(s.samples * outputs, grain_of(cost), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t sample = at / outputs, o = at % outputs, group = o / s.outputs;
            kernels().conv_rows->correlate_rows(from + (sample * all.groups + group) * of_group * plane, factors + o * s.depth,
                                                all.bias == nullptr ? 0.f : all.bias[o], all.result + at * places, s);
        }
    });
    return true;
}

// Channels side by side, each by itself; false with an error where there is no memory for the weights.
bool correlate_channels(const Division& all, const Correlation& given) {
    Correlation s = given;
    s.outputs = all.groups;
    npy_intp size = s.outputs * s.depth;
    Reference packed(PyArray_SimpleNew(1, &size, NPY_FLOAT));
    if (!packed) return false;
    const Windows& w = s.windows;
    float* factors = floats(packed);
    const int64_t* steps = s.weight_strides;
    for (int64_t a = 0; a < w.kernel[0]; ++a)
        for (int64_t b = 0; b < w.kernel[1]; ++b)
            for (int64_t c = 0; c < w.kernel[2]; ++c)
                for (int64_t o = 0; o < s.outputs; ++o)
                    *factors++ = all.weights[o * steps[0] + a * steps[2] + b * steps[3] + c * steps[4]];
    factors = floats(packed);
    const int64_t cost = std::max<int64_t>(1, w.output[2] * s.outputs * s.depth / 8);
    const int64_t rows = s.samples * w.output[0] * w.output[1];
    Released released(rows * cost > GRAIN);
    parallel(rows, grain_of(cost), [&](int64_t begin, int64_t end) {
        kernels().conv_rows->correlate_channels(all.x, factors, all.bias, all.result, s, begin, end);
    });
    return true;
}

// Single channels, and windows of more elements than there are places.
void correlate_windows(const Division& all, const Correlation& s) {
    const int64_t places = s.windows.output[1] * s.windows.output[2], cost = std::max<int64_t>(1, places * s.depth / 8);
    Released released(s.samples * all.groups * cost > GRAIN);
    parallel(s.samples * all.groups, grain_of(cost), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t sample = at / all.groups, g = at % all.groups;
            kernels().conv_rows->correlate_windows(all.x + sample * s.of_sample + g * all.of_group,
                                                   all.weights + g * all.of_weights,
                                                   all.bias == nullptr ? 0.f : all.bias[g], all.result + at * places, s);
        }
    });
}

// correlate(x, w, bias, stride, padding, dilation, groups, channels_last, sizes=None) -> (n, outputs, *sizes)
PyObject* correlate(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || (count != 9 && !counted(count, 8, "correlate"))) return refused(names, "correlate");
    PyArrayObject *x = array_of(arguments[0], "correlate", 1), *weights = array_of(arguments[1], "correlate", 2);
    if (x == nullptr || weights == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(x), spatial = ndim - 2;
    const bool fits = element_of(x) == Element::Float32 && PyArray_ISALIGNED(x) && spatial >= 1 && spatial <= 3 &&
                      element_of(weights) == Element::Float32 && PyArray_ISALIGNED(weights) && PyArray_NDIM(weights) == ndim && PyArray_SIZE(x) > 0 && PyArray_SIZE(weights) > 0;
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
    s.outputs = outputs / groups;
    s.depth = of_group * w.kernel[0] * w.kernel[1] * w.kernel[2];
    const int64_t places = w.output[0] * w.output[1] * w.output[2];
    const int64_t item = PyArray_ITEMSIZE(x), taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
    s.samples = n;
    s.of_sample = PyArray_STRIDE(x, 0) / item;
    s.of_result = outputs * places;
    s.strides[0] = PyArray_STRIDE(x, 1) / item;
    s.weight_strides[0] = PyArray_STRIDE(weights, 0) / item;
    s.weight_strides[1] = PyArray_STRIDE(weights, 1) / item;
    for (int d = 0; d < 3; ++d) {
        s.strides[1 + d] = d < 3 - spatial ? 0 : PyArray_STRIDE(x, d - 1 + spatial) / item;
        s.weight_strides[2 + d] = d < 3 - spatial ? 0 : PyArray_STRIDE(weights, d - 1 + spatial) / item;
    }
    // Products pay where packed windows are used several times, or where there are many channels.
    s.lengthy = taps > places;
    s.samples_first = s.lengthy && s.of_sample == 1 && n >= 8;
    const bool few = s.outputs < 4 && of_group <= 4 && !s.lengthy, alone = s.outputs == 1 && of_group == 1;
    const bool flat = w.input[0] == 1 && w.kernel[0] == 1 && w.output[0] == 1 && w.padding[0] == 0;
    const bool by_channel = few && innermost && alone && s.strides[0] == 1 && taps <= kernels().conv_rows->reach;
    const bool rows_of_channels = innermost && (!few || by_channel);
    if (rows_of_channels) std::rotate(shape + 1, shape + 2, shape + ndim);
    Reference result(new_array(ndim, shape, NPY_FLOAT));
    if (!result) return nullptr;
    float* to = floats(result);
    const Division work = {kernels().conv, static_cast<const float*>(PyArray_DATA(x)),
                           static_cast<const float*>(PyArray_DATA(weights)), bias, to, n * outputs * places, groups,
                           of_group * s.strides[0], s.outputs * s.weight_strides[0]};
    bool done = true;
    if (n == 0 || places == 0) {
    } else if (by_channel) {
        done = correlate_channels(work, s);
    } else if (few) {
        done = correlate_rows(arguments[0], arguments[1], work, s);
    } else if (s.lengthy && alone && flat && !rows_of_channels && s.weight_strides[4] == 1) {
        correlate_windows(work, s);
    } else {
        s.output_strides[0] = rows_of_channels ? 1 : places;
        s.output_strides[1] = rows_of_channels ? outputs : 1;
        join_rows(s);
        done = correlate_strips(work, s, n * places);
    }
    if (!done) return nullptr;
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
