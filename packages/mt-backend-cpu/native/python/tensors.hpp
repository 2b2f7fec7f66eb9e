// Tensors as the core lays them out in memory, and what executors share: running kernels, making results.
#pragma once

#include "python/bindings.hpp"

namespace mt {

// Where the slots of the core's classes lie, and objects of the core that executors call; set once by `use_core`.
struct Core {
    PyTypeObject* tensor = nullptr;
    Py_ssize_t array = 0, dtype = 0, keys = 0, autograd = 0, cell = 0, base = 0;
    PyTypeObject* cell_type = nullptr;
    Py_ssize_t members = 0, sweep_at = 0, version = 0, block = 0, is_exported = 0;
    PyObject* new_cell = nullptr;  // a cell as the class makes it, whose values but for the members others begin with
    PyObject* dtype_type = nullptr;
    PyObject* thread_state = nullptr;  // `mt_core.state.tls`
    PyObject* nested = nullptr;        // `mt_core.state.nested`
    PyObject* module = nullptr;        // this extension module
};
extern Core core;

inline PyObject*& slot(PyObject* object, Py_ssize_t offset) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

inline bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, core.tensor); }

// The NumPy array of a tensor, borrowed; null, without an error, of anything else.
inline PyArrayObject* array_in(PyObject* object) {
    if (core.tensor == nullptr || !is_tensor(object)) return nullptr;
    PyObject* array = slot(object, core.array);
    return array != nullptr && PyArray_CheckExact(array) ? reinterpret_cast<PyArrayObject*>(array) : nullptr;
}

inline PyObject* dtype_in(PyObject* tensor) { return slot(tensor, core.dtype); }

inline bool same_shape(PyArrayObject* a, PyArrayObject* b) {
    return PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

// A tensor on an array; takes over the reference to it, also where it fails.
PyObject* new_tensor(PyObject* array, PyObject* dtype, PyObject* keys);

// Calls a kernel with NumPy's floating-point warnings off. Functions of this module raise none, and are called at once.
PyObject* run_kernel(PyObject* function, PyObject* const* arguments, size_t count, PyObject* names = nullptr);

// The tensor's cell, borrowed, made if it has none yet; null with an error.
PyObject* cell_of(PyObject* tensor);

// Whether two tensors lie on one storage, as far as the core knows.
bool share_memory(PyObject* a, PyObject* b);

// Counts a write to a tensor; false with an error.
bool count_write(PyObject* tensor);

// Writes a number to all elements of a row-major array in the machine's byte order; NotImplemented, having written
// nothing, where its dtype may not take it.
PyObject* fill_with(PyArrayObject* target, PyObject* value);

// The offset of a slot that a class has; false with an error where it has none.
bool find_slot(PyObject* cls, const char* name, Py_ssize_t* offset);

// A new object of a class whose constructor does nothing.
PyObject* bare(PyTypeObject* cls);

// A callable object of the module that tries the plainest form of a call and hands all others to `otherwise`.
struct Executor {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* otherwise;
};

PyObject* handed_over(Executor* executor, PyObject* const* arguments, size_t flags, PyObject* names);

// Adds the classes of executors to the module.
bool add_executors(PyObject* module);
bool add_planned(PyObject* module);
bool add_recorder(PyObject* module);
bool add_writer(PyObject* module);
bool add_factory(PyObject* module);
bool add_direct(PyObject* module);
bool add_loops(PyObject* module);

}  // namespace mt
