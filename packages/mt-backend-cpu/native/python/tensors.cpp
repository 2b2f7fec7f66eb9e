#include "python/tensors.hpp"

#include <structmember.h>

#include <cstring>

namespace mt {

Core core;

PyObject* bare(PyTypeObject* cls) {
    static PyObject* nothing = PyTuple_New(0);
    return nothing == nullptr ? nullptr : PyBaseObject_Type.tp_new(cls, nothing, nullptr);
}

PyObject* cell_of(PyObject* tensor) {
    PyObject*& held = slot(tensor, core.cell);
    if (held != nullptr && held != Py_None) return held;
    Reference members(PyList_New(1));
    if (!members) return nullptr;
    PyObject* reference = PyWeakref_NewRef(tensor, nullptr);
    if (reference == nullptr) return nullptr;
    PyList_SET_ITEM(members.get(), 0, reference);
    PyObject* cell = bare(core.cell_type);
    if (cell == nullptr) return nullptr;
    for (const Py_ssize_t value : {core.version, core.block, core.is_exported, core.sweep_at})
        slot(cell, value) = Py_NewRef(slot(core.new_cell, value));
    slot(cell, core.members) = members.release();
    Py_XSETREF(held, cell);
    return held;
}

PyObject* new_tensor(PyObject* array, PyObject* dtype, PyObject* keys) {
    PyObject* made = bare(core.tensor);
    if (made == nullptr) {
        Py_DECREF(array);
        return nullptr;
    }
    slot(made, core.array) = array;
    slot(made, core.dtype) = Py_NewRef(dtype);
    slot(made, core.keys) = Py_NewRef(keys);
    slot(made, core.autograd) = Py_NewRef(Py_None);
    slot(made, core.cell) = Py_NewRef(Py_None);
    slot(made, core.base) = Py_NewRef(Py_None);
    return made;
}

namespace {

// The thread's private context, in which warnings are off: `tls.run_kernel` is its `run`. Kept for the last thread that
// asked, whose number no later thread has.
struct {
    uint64_t thread = 0;
    PyObject* context = nullptr;
} last;

PyObject* quiet_context() {
    const uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (last.context != nullptr && last.thread == thread) return last.context;
    Reference run(PyObject_GetAttrString(core.thread_state, "run_kernel"));
    if (!run) return nullptr;
    Reference context(PyObject_GetAttrString(run.get(), "__self__"));
    if (!context) return nullptr;
    if (!PyContext_CheckExact(context.get())) {
        PyErr_SetString(PyExc_TypeError, "kernels do not run in a context of the thread");
        return nullptr;
    }
    if (PyContext_Enter(context.get()) < 0) {
        // A kernel of this thread runs already; it has been here.
        if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return nullptr;
        PyErr_Clear();
    } else {
        const bool kept = keep_memory_here();
        if (PyContext_Exit(context.get()) < 0 || !kept) return nullptr;
    }
    PyObject* before = last.context;
    last.thread = thread;
    last.context = context.release();
    Py_XDECREF(before);
    return last.context;
}

}  // namespace

PyObject* run_kernel(PyObject* function, PyObject* const* arguments, size_t count, PyObject* names) {
    if (PyCFunction_CheckExact(function) && PyCFunction_GET_SELF(function) == core.module)
        return PyObject_Vectorcall(function, arguments, count, names);
    PyObject* found = quiet_context();
    if (found == nullptr) return nullptr;
    Reference context(Py_NewRef(found));
    if (PyContext_Enter(context.get()) < 0) {
        // A kernel of this thread runs already: it called an operator, and warnings are off.
        if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return nullptr;
        PyErr_Clear();
        return PyObject_Vectorcall(function, arguments, count, names);
    }
    PyObject* result = PyObject_Vectorcall(function, arguments, count, names);
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    if (result == nullptr) PyErr_Fetch(&type, &value, &traceback);
    if (PyContext_Exit(context.get()) < 0) {
        Py_XDECREF(result);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return nullptr;
    }
    if (result == nullptr) PyErr_Restore(type, value, traceback);
    return result;
}

bool share_memory(PyObject* a, PyObject* b) {
    PyObject *one = slot(a, core.cell), *other = slot(b, core.cell);
    if (one == Py_None || other == Py_None || one == nullptr || other == nullptr) return false;
    if (one == other) return true;
    PyObject* block = slot(one, core.block);
    return block != Py_None && block == slot(other, core.block);
}

bool count_write(PyObject* tensor) {
    PyObject* cell = cell_of(tensor);
    if (cell == nullptr) return false;
    Reference kept(Py_NewRef(cell));
    // Cells that count as one with others have their version elsewhere.
    const bool is_plain = Py_IS_TYPE(cell, core.cell_type);
    Reference version(is_plain ? Py_NewRef(slot(cell, core.version)) : PyObject_GetAttrString(cell, "version"));
    if (!version) return false;
    const long long before = PyLong_AsLongLong(version.get());
    if (before == -1 && PyErr_Occurred()) return false;
    Reference counted(PyLong_FromLongLong(before + 1));
    if (!counted) return false;
    if (!is_plain) return PyObject_SetAttrString(cell, "version", counted.get()) == 0;
    Py_SETREF(slot(cell, core.version), counted.release());
    return true;
}

PyObject* handed_over(Executor* executor, PyObject* const* arguments, size_t flags, PyObject* names) {
    return PyObject_Vectorcall(executor->otherwise, arguments, flags, names);
}

bool find_slot(PyObject* cls, const char* name, Py_ssize_t* offset) {
    Reference found(PyObject_GetAttrString(cls, name));
    if (!found) return false;
    if (!Py_IS_TYPE(found.get(), &PyMemberDescr_Type)) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", cls, name);
        return false;
    }
    *offset = reinterpret_cast<PyMemberDescrObject*>(found.get())->d_member->offset;
    return true;
}

namespace {

// use_core(Tensor, Cell, dtype, tls, nested)
PyObject* use_core(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr) return refused(names, "use_core");
    if (!counted(count, 5, "use_core")) return nullptr;
    Core found;
    if (!PyType_Check(arguments[0]) || !PyType_Check(arguments[1]) || !PyType_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "use_core takes the classes of tensors, cells and dtypes first");
        return nullptr;
    }
    if (!find_slot(arguments[0], "_array", &found.array) || !find_slot(arguments[0], "_dtype", &found.dtype) ||
        !find_slot(arguments[0], "_keys", &found.keys) || !find_slot(arguments[0], "_autograd", &found.autograd) ||
        !find_slot(arguments[0], "_cell", &found.cell) || !find_slot(arguments[0], "_base", &found.base) ||
        !find_slot(arguments[1], "members", &found.members) || !find_slot(arguments[1], "sweep_at", &found.sweep_at) ||
        !find_slot(arguments[1], "version", &found.version) || !find_slot(arguments[1], "block", &found.block) ||
        !find_slot(arguments[1], "is_exported", &found.is_exported))
        return nullptr;
    found.new_cell = PyObject_CallOneArg(arguments[1], arguments[0]);
    if (found.new_cell == nullptr) return nullptr;
    for (const Py_ssize_t value : {found.version, found.block, found.is_exported, found.sweep_at})
        if (slot(found.new_cell, value) == nullptr) {
            PyErr_SetString(PyExc_TypeError, "cells begin without a value that the library sets");
            return nullptr;
        }
    // These live as long as the process, as the module does.
    found.tensor = reinterpret_cast<PyTypeObject*>(Py_NewRef(arguments[0]));
    found.cell_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(arguments[1]));
    found.dtype_type = Py_NewRef(arguments[2]);
    found.thread_state = Py_NewRef(arguments[3]);
    found.nested = Py_NewRef(arguments[4]);
    found.module = Py_NewRef(module);
    core = found;
    Py_RETURN_NONE;
}

}  // namespace

PyMethodDef executor_methods[] = {
    method("use_core", use_core, "use_core(Tensor, Cell, dtype, tls, nested): what executors work on"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
