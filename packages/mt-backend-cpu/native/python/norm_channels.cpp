// Normalization of channels over all else, plane by plane or by rows of channels.
#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

constexpr int64_t ROWS_OF_PART = 64;

float* floats(const Reference& array) { return static_cast<float*>(PyArray_DATA(array.array())); }

int64_t share(int64_t width) { return width >= GRAIN ? 1 : GRAIN / std::max<int64_t>(width, 1) + 1; }

// An array (n, channels, *) that lies plane by plane or with its channels innermost; a copy where it lies otherwise.
bool read_channels(PyObject* object, Reference& held, Channels& s, const char* function) {
    PyArrayObject* x = array_of(object, function, 1);
    if (x == nullptr) return false;
    if (element_of(x) != Element::Float32 || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0) {
        PyErr_Format(PyExc_TypeError, "%s takes elements (n, channels, *) of float32", function);
        return false;
    }
    const int64_t channels = PyArray_DIM(x, 1), n = PyArray_DIM(x, 0), inner = PyArray_SIZE(x) / n / channels;
    const bool innermost = !PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISALIGNED(x) && channels_innermost(x);
    if (innermost || PyArray_ISCARRAY_RO(x)) {
        Py_INCREF(object);
        held.reset(object);
    } else {
        held.reset(PyArray_FROM_OF(object, NPY_ARRAY_CARRAY_RO));
        if (!held) return false;
    }
    s = innermost ? Channels{n * inner, channels, 1} : Channels{n, channels, inner};
    return true;
}

// The array, or a copy of it, laid out like another of its shape.
bool read_like(PyObject* object, const Reference& like, Reference& held, const char* function) {
    PyArrayObject* x = array_of(object, function, 1);
    if (x == nullptr) return false;
    if (element_of(x) != Element::Float32 || !PyArray_SAMESHAPE(x, like.array())) {
        PyErr_Format(PyExc_TypeError, "%s: the gradient must be of float32 and of the shape of the input", function);
        return false;
    }
    const int ndim = PyArray_NDIM(x);
    if (PyArray_ISALIGNED(x) && std::equal(PyArray_STRIDES(x), PyArray_STRIDES(x) + ndim, PyArray_STRIDES(like.array()))) {
        Py_INCREF(object);
        held.reset(object);
        return true;
    }
    held.reset(new_laid_out_as(like.array(), nullptr));
    return held && PyArray_CopyInto(held.array(), x) == 0;
}

// Row-major float32, one for each channel, or null for None; false with an error.
bool read_numbers(PyObject* object, const Channels& s, int position, const char* function, const float** found) {
    *found = nullptr;
    if (object == Py_None) return true;
    PyArrayObject* array = float_rows(object, function, position);
    if (array == nullptr) return false;
    if (PyArray_SIZE(array) != s.channels) {
        PyErr_Format(PyExc_ValueError, "%s: argument %d must have a number for each channel", function, position);
        return false;
    }
    *found = static_cast<const float*>(PyArray_DATA(array));
    return true;
}

PyObject* of_channels(const Channels& s, int64_t rows = 1) {
    npy_intp size = rows * s.channels;
    return new_array(1, &size, NPY_FLOAT);
}

int64_t parts_of(const Channels& s) { return (s.outer + ROWS_OF_PART - 1) / ROWS_OF_PART; }

// Calls `part(number, first row, rows)` for parts of the rows of channels.
template <class Part>
void each_part(const Channels& s, Part part) {
    parallel(parts_of(s), share(s.channels * ROWS_OF_PART), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
            part(p, p * ROWS_OF_PART, std::min(ROWS_OF_PART, s.outer - p * ROWS_OF_PART));
    });
}

void moments(const float* x, const Channels& s, float* mean, float* variance, float* parts) {
    const ChannelTable* table = kernels().channels;
    if (s.inner != 1) {
        parallel(s.channels, share(s.outer * s.inner), [=](int64_t begin, int64_t end) {
            table->moments_of_planes(x, s, mean, variance, begin, end);
        });
        return;
    }
    const float count = static_cast<float>(s.outer);
    for (float* into : {mean, variance}) {
        const float* center = into == mean ? nullptr : mean;
        each_part(s, [=](int64_t p, int64_t first, int64_t rows) {
            table->sums_of_rows(x + first * s.channels, center, s.channels, parts + p * s.channels, rows);
        });
        kernels().norm->add_pairwise(parts, parts_of(s), s.channels);
        for (int64_t c = 0; c < s.channels; ++c) into[c] = parts[c] / count;
    }
}

// Runs of `affine` and `input_gradient`, divided among threads.
template <class Each>
void each_run(const Channels& s, Each each) {
    if (s.inner == 1) parallel(s.outer, share(s.channels), each);
    else parallel(s.outer * s.channels, share(s.inner), each);
}

// batch_norm(x, weight, bias, mean, variance, eps) -> (result, mean, variance, rstd); None for both asks for those of x
PyObject* batch_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "batch_norm";
    if (names != nullptr || !counted(count, 6, name)) return refused(names, name);
    Reference x(nullptr);
    Channels s;
    const float *weight, *bias, *given_mean, *given_variance;
    if (!read_channels(arguments[0], x, s, name) || !read_numbers(arguments[1], s, 2, name, &weight) ||
        !read_numbers(arguments[2], s, 3, name, &bias) || !read_numbers(arguments[3], s, 4, name, &given_mean) ||
        !read_numbers(arguments[4], s, 5, name, &given_variance))
        return nullptr;
    const float eps = static_cast<float>(PyFloat_AsDouble(arguments[5]));
    if (PyErr_Occurred()) return nullptr;
    if ((given_mean == nullptr) != (given_variance == nullptr)) {
        PyErr_SetString(PyExc_ValueError, "batch_norm takes a mean and a variance, or neither");
        return nullptr;
    }
    const bool rows = s.inner == 1 && given_mean == nullptr;
    Reference result(new_laid_out_as(x.array(), nullptr));
    Reference mean(of_channels(s)), variance(of_channels(s)), rstd(of_channels(s)), scale(of_channels(s));
    Reference parts(of_channels(s, rows ? parts_of(s) : 1));
    if (!result || !mean || !variance || !rstd || !scale || !parts) return nullptr;
    const float* from = floats(x);
    float *to = floats(result), *m = floats(mean), *v = floats(variance), *r = floats(rstd), *by = floats(scale);
    {
        Released released(PyArray_SIZE(x.array()) > GRAIN);
        if (given_mean == nullptr) {
            moments(from, s, m, v, floats(parts));
        } else {
            std::copy(given_mean, given_mean + s.channels, m);
            std::copy(given_variance, given_variance + s.channels, v);
        }
        for (int64_t c = 0; c < s.channels; ++c) {
            r[c] = 1.f / std::sqrt(v[c] + eps);
            by[c] = weight == nullptr ? r[c] : r[c] * weight[c];
        }
        const auto f = kernels().channels->affine;
        each_run(s, [=](int64_t begin, int64_t end) { f(from, m, by, bias, to, s, begin, end); });
    }
    return PyTuple_Pack(4, result.get(), mean.get(), variance.get(), rstd.get());
}

// batch_norm_backward(grad, x, weight, mean, rstd, training, of_input) -> (grad of x, of weight, of bias)
PyObject* batch_norm_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "batch_norm_backward";
    if (names != nullptr || !counted(count, 7, name)) return refused(names, name);
    Reference x(nullptr), grad(nullptr);
    Channels s;
    const float *weight, *mean, *rstd;
    if (!read_channels(arguments[1], x, s, name) || !read_like(arguments[0], x, grad, name) ||
        !read_numbers(arguments[2], s, 3, name, &weight) || !read_numbers(arguments[3], s, 4, name, &mean) ||
        !read_numbers(arguments[4], s, 5, name, &rstd))
        return nullptr;
    if (mean == nullptr || rstd == nullptr) {
        PyErr_SetString(PyExc_ValueError, "batch_norm_backward takes a mean and a deviation");
        return nullptr;
    }
    const int training = PyObject_IsTrue(arguments[5]), of_input = PyObject_IsTrue(arguments[6]);
    if (training < 0 || of_input < 0) return nullptr;
    const int64_t count_of_parts = s.inner == 1 ? parts_of(s) : 1;
    Reference result(of_input ? new_laid_out_as(x.array(), nullptr) : nullptr);
    Reference of_weight(of_channels(s)), of_bias(of_channels(s)), numbers(of_channels(s, 3));
    Reference parts(of_channels(s, 2 * count_of_parts));
    if (PyErr_Occurred()) return nullptr;
    const float *from = floats(x), *given = floats(grad);
    float *to = of_input ? floats(result) : nullptr, *slope = floats(of_weight), *level = floats(of_bias);
    float *scale = floats(numbers), *along = scale + s.channels, *shift = along + s.channels;
    const ChannelTable* table = kernels().channels;
    {
        Released released(PyArray_SIZE(x.array()) > GRAIN);
        if (s.inner == 1) {
            float *slopes = floats(parts), *levels = slopes + count_of_parts * s.channels;
            each_part(s, [=](int64_t p, int64_t first, int64_t rows) {
                table->gradients_of_rows(given + first * s.channels, from + first * s.channels, mean, rstd, s.channels,
                                         slopes + p * s.channels, levels + p * s.channels, rows);
            });
            kernels().norm->add_pairwise(slopes, count_of_parts, s.channels);
            kernels().norm->add_pairwise(levels, count_of_parts, s.channels);
            std::copy(slopes, slopes + s.channels, slope);
            std::copy(levels, levels + s.channels, level);
        } else {
            parallel(s.channels, share(s.outer * s.inner), [=](int64_t begin, int64_t end) {
                table->gradients_of_planes(given, from, mean, rstd, s, slope, level, begin, end);
            });
        }
        if (of_input) {
            const float n = static_cast<float>(s.outer * s.inner);
            for (int64_t c = 0; c < s.channels; ++c) {
                scale[c] = weight == nullptr ? rstd[c] : rstd[c] * weight[c];
                along[c] = training ? slope[c] / n : 0.f;
                shift[c] = training ? level[c] / n : 0.f;
            }
            each_run(s, [=](int64_t begin, int64_t end) {
                // With given statistics the gradient does not depend on x, which may hold what is no number.
                if (training) table->input_gradient(given, from, mean, rstd, scale, along, shift, to, s, begin, end);
                else table->affine(given, shift, scale, nullptr, to, s, begin, end);
            });
        }
    }
    return PyTuple_Pack(3, of_input ? result.get() : Py_None, of_weight.get(), of_bias.get());
}

}  // namespace

PyMethodDef channel_methods[] = {
    method("batch_norm", batch_norm, "batch_norm(x, weight, bias, mean, variance, eps) -> (result, mean, variance, rstd)"),
    method("batch_norm_backward", batch_norm_backward,
           "batch_norm_backward(grad, x, weight, mean, rstd, training, of_input) -> three gradients"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
