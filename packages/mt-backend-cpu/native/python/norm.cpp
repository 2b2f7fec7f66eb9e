// Normalization of rows and of groups, and the gradients of it.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

float* floats(PyObject* array) { return static_cast<float*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array))); }

int64_t share(int64_t width) { return width >= GRAIN ? 1 : GRAIN / std::max<int64_t>(width, 1) + 1; }

// Row-major float32 of `size` elements, or null for None; false with an error.
bool read_sized(PyObject* object, int64_t size, int position, const char* function, const float** found) {
    *found = nullptr;
    if (object == Py_None) return true;
    PyArrayObject* array = float_rows(object, function, position);
    if (array == nullptr) return false;
    if (PyArray_SIZE(array) != size) {
        PyErr_Format(PyExc_ValueError, "%s: argument %d must have %lld elements", function, position,
                     static_cast<long long>(size));
        return false;
    }
    *found = static_cast<const float*>(PyArray_DATA(array));
    return true;
}

// The same, where None is refused.
bool read_given(PyObject* object, int64_t size, int position, const char* function, const float** found) {
    return float_rows(object, function, position) != nullptr && read_sized(object, size, position, function, found);
}

// Rows of `width` elements; false with an error.
bool read_rows(PyArrayObject* x, PyObject* width, int64_t* found, const char* function) {
    if (x == nullptr) return false;
    *found = PyLong_AsLongLong(width);
    if (*found == -1 && PyErr_Occurred()) return false;
    if (*found > 0 && PyArray_SIZE(x) % *found == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s: %lld elements are no rows of %lld", function, (long long)PyArray_SIZE(x),
                 (long long)*found);
    return false;
}

// layer_norm(x, width, weight, bias, eps) -> (result, mean, rstd), the last two of shape (rows,)
PyObject* layer_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "layer_norm")) return refused(names, "layer_norm");
    PyArrayObject* x = float_rows(arguments[0], "layer_norm", 1);
    int64_t width;
    const float *weight, *bias;
    if (!read_rows(x, arguments[1], &width, "layer_norm") ||
        !read_sized(arguments[2], width, 3, "layer_norm", &weight) ||
        !read_sized(arguments[3], width, 4, "layer_norm", &bias))
        return nullptr;
    const double eps = PyFloat_AsDouble(arguments[4]);
    if (PyErr_Occurred()) return nullptr;
    npy_intp rows = PyArray_SIZE(x) / width;
    Reference result(new_like(x)), mean(new_array(1, &rows, NPY_FLOAT)), rstd(new_array(1, &rows, NPY_FLOAT));
    if (!result || !mean || !rstd) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float *to = floats(result.get()), *means = floats(mean.get()), *rstds = floats(rstd.get());
    const auto f = kernels().norm->layer_norm;
    {
        Released released(rows * width > GRAIN);
        parallel(rows, share(width), [=](int64_t begin, int64_t end) {
            f(from + begin * width, weight, bias, static_cast<float>(eps), to + begin * width, means + begin,
              rstds + begin, end - begin, width);
        });
    }
    return PyTuple_Pack(3, result.get(), mean.get(), rstd.get());
}

// Rows whose parts of a sum over all rows are added up before the next begin.
constexpr int64_t ROWS_OF_PART = 32;

// layer_norm_backward(grad, x, width, mean, rstd, weight, of_input, of_parameters) -> (grad of x, of weight, of bias)
PyObject* layer_norm_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "layer_norm_backward";
    if (names != nullptr || !counted(count, 8, name)) return refused(names, name);
    PyArrayObject* x = float_rows(arguments[1], name, 2);
    int64_t width;
    const float *grad, *mean, *rstd, *weight;
    if (!read_rows(x, arguments[2], &width, name)) return nullptr;
    npy_intp size = width, rows = PyArray_SIZE(x) / width;
    if (!read_given(arguments[0], rows * width, 1, name, &grad) || !read_given(arguments[3], rows, 4, name, &mean) ||
        !read_given(arguments[4], rows, 5, name, &rstd) || !read_sized(arguments[5], width, 6, name, &weight))
        return nullptr;
    const int of_input = PyObject_IsTrue(arguments[6]), of_parameters = PyObject_IsTrue(arguments[7]);
    if (of_input < 0 || of_parameters < 0) return nullptr;
    const int64_t parts = (rows + ROWS_OF_PART - 1) / ROWS_OF_PART;
    npy_intp sums = 2 * std::max<int64_t>(parts, 1) * width;
    Reference result(of_input ? new_like(x) : nullptr), summed(of_parameters ? new_zeros(1, &sums, NPY_FLOAT) : nullptr);
    Reference of_weight(of_parameters ? new_array(1, &size, NPY_FLOAT) : nullptr);
    Reference of_bias(of_parameters ? new_array(1, &size, NPY_FLOAT) : nullptr);
    if (PyErr_Occurred()) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    const NormTable* table = kernels().norm;
    {
        Released released(rows * width > GRAIN);
        float* to = of_input ? floats(result.get()) : nullptr;
        float* slopes = of_parameters ? floats(summed.get()) : nullptr;
        float* levels = of_parameters ? slopes + std::max<int64_t>(parts, 1) * width : nullptr;
        parallel(parts, share(width * ROWS_OF_PART), [=](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; ++p) {
                const int64_t first = p * ROWS_OF_PART, n = std::min<int64_t>(ROWS_OF_PART, rows - first);
                const float *given = grad + first * width, *own = from + first * width;
                if (to != nullptr)
                    table->layer_norm_backward(given, own, mean + first, rstd + first, weight, to + first * width, n,
                                               width);
                if (slopes != nullptr)
                    table->layer_norm_parameters(given, own, mean + first, rstd + first, slopes + p * width,
                                                 levels + p * width, n, width);
            }
        });
        if (of_parameters) {
            table->add_pairwise(slopes, parts, width);
            table->add_pairwise(levels, parts, width);
            std::copy(slopes, slopes + width, floats(of_weight.get()));
            std::copy(levels, levels + width, floats(of_bias.get()));
        }
    }
    return PyTuple_Pack(3, of_input ? result.get() : Py_None, of_parameters ? of_weight.get() : Py_None,
                        of_parameters ? of_bias.get() : Py_None);
}

// rms_norm(x, width, weight, eps) -> (result, rstd)
PyObject* rms_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "rms_norm")) return refused(names, "rms_norm");
    PyArrayObject* x = float_rows(arguments[0], "rms_norm", 1);
    int64_t width;
    const float* weight;
    if (!read_rows(x, arguments[1], &width, "rms_norm") || !read_sized(arguments[2], width, 3, "rms_norm", &weight))
        return nullptr;
    const double eps = PyFloat_AsDouble(arguments[3]);
    if (PyErr_Occurred()) return nullptr;
    npy_intp rows = PyArray_SIZE(x) / width;
    Reference result(new_like(x)), rstd(new_array(1, &rows, NPY_FLOAT));
    if (!result || !rstd) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float *to = floats(result.get()), *rstds = floats(rstd.get());
    const auto f = kernels().norm->rms_norm;
    {
        Released released(rows * width > GRAIN);
        parallel(rows, share(width), [=](int64_t begin, int64_t end) {
            f(from + begin * width, weight, static_cast<float>(eps), to + begin * width, rstds + begin, end - begin,
              width);
        });
    }
    return PyTuple_Pack(2, result.get(), rstd.get());
}

// Sizes of (n, channels, *) whose channels are divided into groups.
struct Grouped {
    npy_intp n = 0, channels = 0, groups = 0;
    int64_t inner = 0;
};

bool read_groups(PyArrayObject* x, PyObject* groups, Grouped& found, const char* function) {
    if (x == nullptr) return false;
    found.groups = PyLong_AsLongLong(groups);
    if (PyErr_Occurred()) return false;
    const bool fits = PyArray_NDIM(x) >= 2 && PyArray_SIZE(x) > 0 && found.groups > 0 &&
                      PyArray_DIM(x, 1) % found.groups == 0;
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "%s takes elements (n, channels, *), and groups that divide the channels", function);
        return false;
    }
    found.n = PyArray_DIM(x, 0);
    found.channels = PyArray_DIM(x, 1);
    found.inner = PyArray_SIZE(x) / found.n / found.channels;
    return true;
}

// group_norm(x, groups, weight, bias, eps) -> (result, mean, rstd), the last two of shape (n, groups)
PyObject* group_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "group_norm")) return refused(names, "group_norm");
    PyArrayObject* x = float_rows(arguments[0], "group_norm", 1);
    Grouped s;
    const float *weight, *bias;
    if (!read_groups(x, arguments[1], s, "group_norm") ||
        !read_sized(arguments[2], s.channels, 3, "group_norm", &weight) ||
        !read_sized(arguments[3], s.channels, 4, "group_norm", &bias))
        return nullptr;
    const double eps = PyFloat_AsDouble(arguments[4]);
    if (PyErr_Occurred()) return nullptr;
    npy_intp shape[2] = {s.n, s.groups};
    Reference result(new_like(x)), mean(new_array(2, shape, NPY_FLOAT)), rstd(new_array(2, shape, NPY_FLOAT));
    if (!result || !mean || !rstd) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float *to = floats(result.get()), *means = floats(mean.get()), *rstds = floats(rstd.get());
    const auto f = kernels().norm->group_norm;
    {
        Released released(PyArray_SIZE(x) > GRAIN);
        parallel(s.n * s.groups, share(s.channels / s.groups * s.inner), [=](int64_t begin, int64_t end) {
            f(from, weight, bias, static_cast<float>(eps), to, means, rstds, s.channels, s.groups, s.inner, begin, end);
        });
    }
    return PyTuple_Pack(3, result.get(), mean.get(), rstd.get());
}

// group_norm_backward(grad, x, groups, mean, rstd, weight, of_input) -> (grad of x, of weight, of bias)
PyObject* group_norm_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "group_norm_backward";
    if (names != nullptr || !counted(count, 7, name)) return refused(names, name);
    PyArrayObject* x = float_rows(arguments[1], name, 2);
    Grouped s;
    const float *grad, *mean, *rstd, *weight;
    if (!read_groups(x, arguments[2], s, name) || !read_given(arguments[0], PyArray_SIZE(x), 1, name, &grad) ||
        !read_given(arguments[3], s.n * s.groups, 4, name, &mean) ||
        !read_given(arguments[4], s.n * s.groups, 5, name, &rstd) ||
        !read_sized(arguments[5], s.channels, 6, name, &weight))
        return nullptr;
    const int of_input = PyObject_IsTrue(arguments[6]);
    if (of_input < 0) return nullptr;
    npy_intp sums = 2 * s.n * s.channels;
    Reference result(of_input ? new_like(x) : nullptr), summed(new_array(1, &sums, NPY_FLOAT));
    Reference of_weight(new_array(1, &s.channels, NPY_FLOAT)), of_bias(new_array(1, &s.channels, NPY_FLOAT));
    if (PyErr_Occurred()) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = of_input ? floats(result.get()) : nullptr;
    float *slopes = floats(summed.get()), *levels = slopes + s.n * s.channels;
    const NormTable* table = kernels().norm;
    {
        Released released(PyArray_SIZE(x) > GRAIN);
        parallel(s.n * s.groups, share(s.channels / s.groups * s.inner), [=](int64_t begin, int64_t end) {
            table->group_norm_backward(grad, from, mean, rstd, weight, to, slopes, levels, s.channels, s.groups, s.inner,
                                       begin, end);
        });
        table->add_pairwise(slopes, s.n, s.channels);
        table->add_pairwise(levels, s.n, s.channels);
        std::copy(slopes, slopes + s.channels, floats(of_weight.get()));
        std::copy(levels, levels + s.channels, floats(of_bias.get()));
    }
    return PyTuple_Pack(3, of_input ? result.get() : Py_None, of_weight.get(), of_bias.get());
}

}  // namespace

PyMethodDef norm_methods[] = {
    method("layer_norm", layer_norm, "layer_norm(x, width, weight, bias, eps) -> (result, mean, rstd)"),
    method("layer_norm_backward", layer_norm_backward,
           "layer_norm_backward(grad, x, width, mean, rstd, weight, of_input, of_parameters) -> three gradients or None"),
    method("rms_norm", rms_norm, "rms_norm(x, width, weight, eps) -> (result, rstd)"),
    method("group_norm", group_norm, "group_norm(x, groups, weight, bias, eps) -> (result, mean, rstd)"),
    method("group_norm_backward", group_norm_backward,
           "group_norm_backward(grad, x, groups, mean, rstd, weight, of_input) -> three gradients"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
