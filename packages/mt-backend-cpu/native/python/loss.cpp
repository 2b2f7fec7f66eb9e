// Losses of classes.
#include <cstdint>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

enum Reduction { NONE, MEAN, SUM };

// Rows of scores and a class for each.
struct Classes {
    const float* scores = nullptr;
    const int64_t* labels = nullptr;
    PyArrayObject *rows_of = nullptr, *labels_of = nullptr;
    int64_t rows = 0, width = 0, ignored = 0, counted = 0;
    long reduction = NONE;
};

PyArrayObject* label_rows(PyObject* object, const char* function, int position) {
    PyArrayObject* array = array_of(object, function, position);
    if (array == nullptr) return nullptr;
    if (PyArray_TYPE(array) == NPY_INT64 && PyArray_ISCARRAY_RO(array)) return array;
    PyErr_Format(PyExc_TypeError, "%s: argument %d must be a row-major array of int64", function, position);
    return nullptr;
}

// 1 where every label is a class or ignored, 0 where one is not, -1 with an error.
int read_classes(PyObject* scores, PyObject* labels, PyObject* reduction, PyObject* ignored, Classes& found,
                 const char* function) {
    found.rows_of = float_rows(scores, function, 1);
    found.labels_of = found.rows_of == nullptr ? nullptr : label_rows(labels, function, 2);
    if (found.labels_of == nullptr) return -1;
    found.reduction = PyLong_AsLong(reduction);
    found.ignored = PyLong_AsLongLong(ignored);
    if (PyErr_Occurred()) return -1;
    const int ndim = PyArray_NDIM(found.rows_of);
    found.rows = PyArray_SIZE(found.labels_of);
    found.width = ndim == 0 ? 0 : PyArray_DIM(found.rows_of, ndim - 1);
    if (ndim < 1 || ndim > 2 || found.rows != (ndim == 2 ? PyArray_DIM(found.rows_of, 0) : 1) || found.reduction < NONE ||
        found.reduction > SUM) {
        PyErr_Format(PyExc_ValueError, "%s takes scores (N, C) or (C,), N classes, and a reduction of 0 to 2", function);
        return -1;
    }
    found.scores = static_cast<const float*>(PyArray_DATA(found.rows_of));
    found.labels = static_cast<const int64_t*>(PyArray_DATA(found.labels_of));
    for (int64_t r = 0; r < found.rows; ++r) {
        if (found.labels[r] == found.ignored) continue;
        if (found.labels[r] < 0 || found.labels[r] >= found.width) return 0;
        ++found.counted;
    }
    return 1;
}

// The weights of classes, or null where there are none; false with an error where they do not fit.
bool read_weight(PyObject* object, const Classes& of, const float** weight, const char* function) {
    *weight = nullptr;
    if (object == Py_None) return true;
    PyArrayObject* array = float_rows(object, function, 3);
    if (array == nullptr) return false;
    if (PyArray_SIZE(array) != of.width) {
        PyErr_Format(PyExc_ValueError, "%s: there must be a weight for each class", function);
        return false;
    }
    *weight = static_cast<const float*>(PyArray_DATA(array));
    return true;
}

PyObject* scalar(float value) {
    PyObject* made = new_array(0, nullptr, NPY_FLOAT);
    if (made != nullptr) *static_cast<float*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made))) = value;
    return made;
}

float* floats_of(const Reference& array) { return static_cast<float*>(PyArray_DATA(array.array())); }

// cross_entropy(scores, labels, reduction, ignored) -> loss, or None where a label is no class
PyObject* cross_entropy(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "cross_entropy")) return refused(names, "cross_entropy");
    Classes given;
    const int fits = read_classes(arguments[0], arguments[1], arguments[2], arguments[3], given, "cross_entropy");
    if (fits < 0) return nullptr;
    if (fits == 0) Py_RETURN_NONE;
    Reference losses(new_array(PyArray_NDIM(given.labels_of), PyArray_DIMS(given.labels_of), NPY_FLOAT));
    if (!losses) return nullptr;
    float* each = floats_of(losses);
    const LossTable* table = kernels().loss;
    float total = 0.f;
    {
        const int64_t cost = given.width < 1 ? 1 : given.width;
        Released released(given.rows * cost > GRAIN);
        parallel(given.rows, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
            table->cross_entropy(given.scores + begin * given.width, given.labels + begin, given.ignored, each + begin,
                                 end - begin, given.width);
        });
        if (given.reduction != NONE) total = table->sum(each, given.rows);
    }
    if (given.reduction == NONE) return losses.release();
    return scalar(given.reduction == MEAN ? total / static_cast<float>(given.counted) : total);
}

// nll_loss(scores, labels, weight, reduction, ignored) -> (loss, total weight), or None where a label is no class
PyObject* nll_loss(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "nll_loss")) return refused(names, "nll_loss");
    Classes given;
    const int fits = read_classes(arguments[0], arguments[1], arguments[3], arguments[4], given, "nll_loss");
    const float* weight;
    if (fits < 0 || !read_weight(arguments[2], given, &weight, "nll_loss")) return nullptr;
    if (fits == 0) Py_RETURN_NONE;
    npy_intp rows = given.rows;
    Reference losses(new_array(PyArray_NDIM(given.labels_of), PyArray_DIMS(given.labels_of), NPY_FLOAT));
    Reference weights(new_array(1, &rows, NPY_FLOAT));
    if (!losses || !weights) return nullptr;
    const LossTable* table = kernels().loss;
    table->nll(given.scores, given.labels, weight, given.ignored, floats_of(losses), floats_of(weights), rows,
               given.width);
    if (given.reduction == NONE) {
        Reference total(scalar(0.f));
        return total ? PyTuple_Pack(2, losses.get(), total.get()) : nullptr;
    }
    const float total = table->sum(floats_of(weights), rows), value = table->sum(floats_of(losses), rows);
    Reference loss(scalar(given.reduction == MEAN ? value / total : value)), whole(scalar(total));
    return loss && whole ? PyTuple_Pack(2, loss.get(), whole.get()) : nullptr;
}

// nll_loss_backward(grad, scores, labels, weight, reduction, ignored, total) -> gradient, or None as above
PyObject* nll_loss_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "nll_loss_backward";
    if (names != nullptr || !counted(count, 7, name)) return refused(names, name);
    Classes given;
    const int fits = read_classes(arguments[1], arguments[2], arguments[4], arguments[5], given, name);
    const float* weight;
    if (fits < 0 || !read_weight(arguments[3], given, &weight, name)) return nullptr;
    PyArrayObject* grad = float_rows(arguments[0], name, 1);
    PyArrayObject* total = grad == nullptr ? nullptr : float_rows(arguments[6], name, 7);
    if (total == nullptr) return nullptr;
    if (PyArray_SIZE(grad) != (given.reduction == NONE ? given.rows : 1) || PyArray_SIZE(total) != 1) {
        PyErr_SetString(PyExc_ValueError, "nll_loss_backward: the gradient does not have the shape of the loss");
        return nullptr;
    }
    if (fits == 0) Py_RETURN_NONE;
    Reference result(new_zeros(PyArray_NDIM(given.rows_of), PyArray_DIMS(given.rows_of), NPY_FLOAT));
    if (!result) return nullptr;
    const float* whole = given.reduction == MEAN ? static_cast<const float*>(PyArray_DATA(total)) : nullptr;
    kernels().loss->nll_backward(static_cast<const float*>(PyArray_DATA(grad)), given.reduction == NONE ? 1 : 0,
                                 given.labels, weight, given.ignored, whole, floats_of(result), given.rows, given.width);
    return result.release();
}

}  // namespace

PyMethodDef loss_methods[] = {
    method("cross_entropy", cross_entropy, "cross_entropy(scores, labels, reduction, ignored) -> loss or None"),
    method("nll_loss", nll_loss, "nll_loss(scores, labels, weight, reduction, ignored) -> (loss, total weight) or None"),
    method("nll_loss_backward", nll_loss_backward,
           "nll_loss_backward(grad, scores, labels, weight, reduction, ignored, total) -> gradient or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
