// Recurrent networks over arrays of rows.
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Samples that a thread takes at least: fewer leave the weights' panels too quickly.
constexpr int64_t SAMPLES = 4;

float* floats(const Reference& array) { return array ? static_cast<float*>(PyArray_DATA(array.array())) : nullptr; }

// Row-major float32 of shape (rows, width); false with an error.
bool read_matrix(PyObject* object, int64_t rows, int64_t width, int position, const char* function, const float** found) {
    PyArrayObject* array = float_rows(object, function, position);
    if (array == nullptr) return false;
    if (PyArray_NDIM(array) != 2 || PyArray_DIM(array, 0) != rows || PyArray_DIM(array, 1) != width) {
        PyErr_Format(PyExc_ValueError, "%s: argument %d must have the shape (%lld, %lld)", function, position,
                     static_cast<long long>(rows), static_cast<long long>(width));
        return false;
    }
    *found = static_cast<const float*>(PyArray_DATA(array));
    return true;
}

// The same, or null for None.
bool read_optional(PyObject* object, int64_t rows, int64_t width, int position, const char* function, const float** found) {
    *found = nullptr;
    return object == Py_None || read_matrix(object, rows, width, position, function, found);
}

// What both directions are told of the network and its sequences.
struct Sequences {
    Recurrence r;
    std::vector<int64_t> starts;
    int64_t rows = 0, gates = 0;
    const float* weight = nullptr;

    bool read(PyObject* kind, PyObject* sizes, PyObject* initial, PyObject* weights, PyObject* backwards, const char* function) {
        const long number = PyLong_AsLong(kind);
        if (number == -1 && PyErr_Occurred()) return false;
        if (number < Recurrence::Lstm || number > Recurrence::Relu) {
            PyErr_Format(PyExc_ValueError, "%s: no kind of network has the number %ld", function, number);
            return false;
        }
        r.kind = static_cast<Recurrence::Kind>(number);
        gates = r.kind == Recurrence::Lstm ? 4 : r.kind == Recurrence::Gru ? 3 : 1;
        PyArrayObject* state = float_rows(initial, function, 4);
        if (state == nullptr) return false;
        if (PyArray_NDIM(state) != 2 || PyArray_SIZE(state) == 0) {
            PyErr_Format(PyExc_ValueError, "%s: states must be (batch, hidden) with elements", function);
            return false;
        }
        r.batch = PyArray_DIM(state, 0);
        r.hidden = PyArray_DIM(state, 1);
        if (!read_matrix(weights, gates * r.hidden, r.hidden, 6, function, &weight)) return false;
        const int reversed = PyObject_IsTrue(backwards);
        if (reversed < 0) return false;
        r.backwards = reversed != 0;
        return read_sizes(sizes, function);
    }

    bool read_sizes(PyObject* object, const char* function) {
        PyArrayObject* array = array_of(object, function, 3);
        if (array == nullptr) return false;
        if (PyArray_TYPE(array) != NPY_INT64 || PyArray_NDIM(array) != 1 || !PyArray_ISCARRAY_RO(array)) {
            PyErr_Format(PyExc_TypeError, "%s: sizes must be a row-major array (steps,) of int64", function);
            return false;
        }
        r.steps = PyArray_DIM(array, 0);
        const int64_t* given = static_cast<const int64_t*>(PyArray_DATA(array));
        bool fits = r.steps > 0 && given[0] == r.batch && r.batch <= PY_SSIZE_T_MAX / r.steps;
        for (int64_t t = 0; t < r.steps && fits; ++t) fits = given[t] > 0 && (t == 0 || given[t] <= given[t - 1]);
        if (!fits) {
            PyErr_Format(PyExc_ValueError, "%s: sizes must fall from the batch's and be positive", function);
            return false;
        }
        // Copied, for another thread may write to the array while kernels run.
        starts.assign(given, given + r.steps);
        starts.resize(static_cast<size_t>(2 * r.steps));
        for (int64_t t = 0; t < r.steps; ++t) {
            starts[static_cast<size_t>(r.steps + t)] = rows;
            rows += starts[static_cast<size_t>(t)];
        }
        r.sizes = starts.data();
        r.starts = starts.data() + r.steps;
        return true;
    }

    std::unique_ptr<float[]> packed(bool backward) const {
        const RecurrentTable* table = kernels().recurrent;
        std::unique_ptr<float[]> space(
            new (std::nothrow) float[static_cast<size_t>(table->room(r.kind, r.hidden, backward))]);
        if (space) table->pack(r.kind, weight, r.hidden, backward, space.get());
        return space;
    }

    // How many samples are worth a thread.
    int64_t share() const {
        const int64_t cost = rows / r.batch * r.hidden * gates;
        return std::max(SAMPLES, (4 * GRAIN / std::max<int64_t>(cost, 1) + SAMPLES) / SAMPLES * SAMPLES);
    }
};

PyObject* new_rows(int64_t rows, int64_t width) {
    npy_intp shape[2] = {rows, width};
    return new_array(2, shape, NPY_FLOAT);
}

PyObject* or_none(const Reference& array) { return array ? array.get() : Py_None; }

// recurrent_forward(kind, inputs, sizes, initial, cell, weight, bias, backwards, keeps)
//     -> (outputs, last states, last cells, activated gates, cells)
PyObject* recurrent_forward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "recurrent_forward";
    if (names != nullptr || !counted(count, 9, name)) return refused(names, name);
    Sequences s;
    if (!s.read(arguments[0], arguments[2], arguments[3], arguments[5], arguments[7], name)) return nullptr;
    const int64_t h = s.r.hidden, width = s.gates * h;
    const bool has_cell = s.r.kind == Recurrence::Lstm, plain = s.gates == 1;
    RecurrentForward a{};
    const float* cell = nullptr;
    if (!read_matrix(arguments[1], s.rows, width, 2, name, &a.inputs) ||
        !read_matrix(arguments[3], s.r.batch, h, 4, name, &a.initial) ||
        (has_cell && !read_matrix(arguments[4], s.r.batch, h, 5, name, &cell)))
        return nullptr;
    if (arguments[6] != Py_None) {
        PyArrayObject* bias = float_rows(arguments[6], name, 7);
        if (bias == nullptr) return nullptr;
        if (PyArray_SIZE(bias) != width) {
            PyErr_Format(PyExc_ValueError, "%s: the bias must have %lld elements", name, static_cast<long long>(width));
            return nullptr;
        }
        a.bias = static_cast<const float*>(PyArray_DATA(bias));
    }
    const int keeps = PyObject_IsTrue(arguments[8]);
    if (keeps < 0) return nullptr;
    Reference outputs(new_rows(s.rows, h)), last(new_rows(s.r.batch, h));
    Reference last_cell(has_cell ? new_rows(s.r.batch, h) : nullptr);
    Reference activated(keeps && !plain ? new_rows(s.rows, 4 * h) : nullptr);
    Reference cells(keeps && has_cell ? new_rows(s.rows, h) : nullptr);
    if (PyErr_Occurred()) return nullptr;
    a.outputs = floats(outputs);
    a.final_hidden = floats(last);
    a.cell = floats(last_cell);
    a.activated = floats(activated);
    a.cells = floats(cells);
    bool failed = false;
    {
        Released released(s.rows * width > GRAIN);
        if (has_cell) std::copy(cell, cell + s.r.batch * h, a.cell);
        const std::unique_ptr<float[]> packed = s.packed(false);
        failed = !packed;
        if (!failed)
            parallel(s.r.batch, s.share(), [&](int64_t begin, int64_t end) {
                kernels().recurrent->forward(s.r, a, packed.get(), begin, end);
            });
    }
    if (failed) return PyErr_NoMemory();
    return PyTuple_Pack(5, outputs.get(), last.get(), or_none(last_cell), or_none(activated), or_none(cells));
}

// The gradient of last states, which becomes that of the first.
PyObject* carried(PyObject* given, const Sequences& s, int position, const char* function) {
    const float* from;
    if (!read_optional(given, s.r.batch, s.r.hidden, position, function, &from)) return nullptr;
    PyObject* made = new_rows(s.r.batch, s.r.hidden);
    if (made == nullptr) return nullptr;
    float* to = static_cast<float*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made)));
    const int64_t n = s.r.batch * s.r.hidden;
    if (from == nullptr)
        std::fill(to, to + n, 0.f);
    else
        std::copy(from, from + n, to);
    return made;
}

// recurrent_backward(kind, grad_outputs, sizes, initial, initial_cell, weight, outputs, activated, cells, grad_last,
//                    grad_last_cell, backwards)
//     -> (grad of inputs, of the states' part of gates, state before each step, grad of states, of cells)
PyObject* recurrent_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "recurrent_backward";
    if (names != nullptr || !counted(count, 12, name)) return refused(names, name);
    Sequences s;
    if (!s.read(arguments[0], arguments[2], arguments[3], arguments[5], arguments[11], name)) return nullptr;
    const int64_t h = s.r.hidden, width = s.gates * h;
    const bool has_cell = s.r.kind == Recurrence::Lstm, plain = s.gates == 1;
    RecurrentBackward a{};
    if (!read_optional(arguments[1], s.rows, h, 2, name, &a.grad_outputs) ||
        !read_matrix(arguments[3], s.r.batch, h, 4, name, &a.initial) ||
        (has_cell && !read_matrix(arguments[4], s.r.batch, h, 5, name, &a.initial_cell)) ||
        !read_matrix(arguments[6], s.rows, h, 7, name, &a.outputs) ||
        (!plain && !read_matrix(arguments[7], s.rows, 4 * h, 8, name, &a.activated)) ||
        (has_cell && !read_matrix(arguments[8], s.rows, h, 9, name, &a.cells)))
        return nullptr;
    Reference hidden(carried(arguments[9], s, 10, name));
    if (!hidden) return nullptr;
    Reference cell(has_cell ? carried(arguments[10], s, 11, name) : nullptr);
    if (PyErr_Occurred()) return nullptr;
    Reference of_inputs(new_rows(s.rows, width)), previous(new_rows(s.rows, h));
    Reference of_states(s.r.kind == Recurrence::Gru ? new_rows(s.rows, width) : nullptr);
    if (PyErr_Occurred()) return nullptr;
    a.of_inputs = floats(of_inputs);
    a.of_states = floats(of_states);
    a.previous = floats(previous);
    a.hidden = floats(hidden);
    a.cell = floats(cell);
    bool failed = false;
    {
        Released released(s.rows * width > GRAIN);
        const std::unique_ptr<float[]> packed = s.packed(true);
        failed = !packed;
        if (!failed)
            parallel(s.r.batch, s.share(), [&](int64_t begin, int64_t end) {
                kernels().recurrent->backward(s.r, a, packed.get(), begin, end);
            });
    }
    if (failed) return PyErr_NoMemory();
    return PyTuple_Pack(5, of_inputs.get(), of_states ? of_states.get() : of_inputs.get(), previous.get(), hidden.get(),
                        or_none(cell));
}

}  // namespace

PyMethodDef recurrent_methods[] = {
    method("recurrent_forward", recurrent_forward,
           "recurrent_forward(kind, inputs, sizes, initial, cell, weight, bias, backwards, keeps) -> (outputs, last "
           "states, last cells, activated gates, cells)"),
    method("recurrent_backward", recurrent_backward,
           "recurrent_backward(kind, grad_outputs, sizes, initial, initial_cell, weight, outputs, activated, cells, "
           "grad_last, grad_last_cell, backwards) -> (grad of inputs, of the states' part of the gates, states before "
           "each step, grad of states, of cells)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
