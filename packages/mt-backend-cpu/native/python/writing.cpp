// Executor of calls that write: in place, and into `out=`, of tensors alike; and what writes into memory without a kernel.
//
// It stands before an executor of `mt_core.dispatch`, which takes whatever is not recognized here.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "python/tensors.hpp"

#include <structmember.h>

namespace mt {
namespace {

constexpr size_t MOST_ARGUMENTS = 12;

// How the function is called: with the operands and `out=`, at the defaults of parameters; with all arguments, numbers
// among them; or with all arguments, whatever they are.
enum class Way { Fills = 0, First = 1, Any = 2 };

struct Entry {
    PyObject* dtype;     // of all tensors but the output, borrowed, as all here are, from what was told; null: any
    PyObject* result;    // of the output
    PyObject* function;  // of arrays; an `Any` may return NotImplemented, having written nothing
    PyObject* also;      // a further condition on all arguments, or null
    Way way;
    bool takes_int, takes_float;  // in the place of the last operand
};

struct Writer {
    Executor head;
    PyObject* entries_told;  // list of tuples, which hold what entries borrow
    PyObject* defaults;      // of the parameters
    size_t operands;
    bool into_last;  // whether the output is the last argument, and no operand
    std::vector<Entry>* entries;
};

bool is_small(PyObject* number) {
    int overflow;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    return !overflow && value >= 0 && value <= 127;
}

bool is_default(PyObject* value, PyObject* wanted) {
    if (value == wanted) return true;
    if (Py_TYPE(value) != Py_TYPE(wanted)) return false;
    if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value) == PyFloat_AS_DOUBLE(wanted);
    if (PyLong_CheckExact(value)) {
        int overflow;
        const long number = PyLong_AsLongAndOverflow(value, &overflow);
        return !overflow && number == PyLong_AsLongAndOverflow(wanted, &overflow) && !overflow;
    }
    return PyUnicode_CheckExact(value) && PyUnicode_Compare(value, wanted) == 0;
}

// A call as a kernel gets it: arrays in place of tensors, each held while it runs, since it may call operators.
struct Given {
    PyObject* arguments[MOST_ARGUMENTS + 2] = {nullptr};
    size_t count = 0;
    ~Given() {
        for (size_t i = 0; i < count; ++i) Py_DECREF(arguments[1 + i]);
    }
    void add(PyObject* value) { arguments[1 + count++] = Py_NewRef(value); }
};

// Whether a tensor may be read while the output is written: another one on memory of its own, or that very tensor where
// the form is in place.
bool is_apart(const Writer* self, PyObject* target, PyObject* tensor) {
    return tensor == target ? !self->into_last : !share_memory(target, tensor);
}

bool prepare_filling(const Writer* self, const Entry& entry, PyObject* const* arguments, PyObject* target,
                     PyArrayObject* output, Given& given) {
    const size_t parameters = static_cast<size_t>(PyTuple_GET_SIZE(self->defaults));
    for (size_t i = 0; i < parameters; ++i)
        if (!is_default(arguments[self->operands + i], PyTuple_GET_ITEM(self->defaults, static_cast<Py_ssize_t>(i))))
            return false;
    for (size_t i = 0; i < self->operands; ++i) {
        PyArrayObject* array = array_in(arguments[i]);
        if (array == nullptr) {
            if (i == 0 || i + 1 != self->operands) return false;
            const bool taken = entry.takes_float && PyFloat_CheckExact(arguments[i]);
            if (!taken && !(entry.takes_int && PyLong_CheckExact(arguments[i]) && is_small(arguments[i]))) return false;
            given.add(arguments[i]);
            continue;
        }
        if (dtype_in(arguments[i]) != entry.dtype || !same_shape(array, output) ||
            !is_apart(self, target, arguments[i]))
            return false;
        given.add(reinterpret_cast<PyObject*>(array));
    }
    return true;
}

bool prepare_all(const Writer* self, const Entry& entry, PyObject* const* arguments, size_t count, PyObject* target,
                 PyArrayObject* output, Given& given) {
    for (size_t i = 0; i < count; ++i) {
        PyObject* value = arguments[i];
        PyArrayObject* array = array_in(value);
        if (array != nullptr) {
            if (dtype_in(value) != dtype_in(target) || !same_shape(array, output) || !is_apart(self, target, value))
                return false;
            given.add(reinterpret_cast<PyObject*>(array));
            continue;
        }
        const bool number = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
        if (!number && (entry.way != Way::Any || (!PyBool_Check(value) && value != Py_None))) return false;
        given.add(value);
    }
    if (entry.also == nullptr) return true;
    Reference taken(PyObject_Vectorcall(entry.also, arguments, count, nullptr));
    return taken && PyObject_IsTrue(taken.get()) == 1;
}

PyObject* out_only() {
    static PyObject* names = nullptr;
    if (names == nullptr) names = Py_BuildValue("(s)", "out");
    return names;
}

PyObject* writer_call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
    Writer* self = reinterpret_cast<Writer*>(object);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    const size_t parameters = static_cast<size_t>(PyTuple_GET_SIZE(self->defaults));
    if (names != nullptr || count != self->operands + parameters + (self->into_last ? 1 : 0))
        return handed_over(&self->head, arguments, flags, names);
    PyObject* target = arguments[self->into_last ? count - 1 : 0];
    PyArrayObject* output = array_in(target);
    if (output == nullptr) return handed_over(&self->head, arguments, flags, names);
    PyObject* dtype = dtype_in(target);
    for (const Entry& entry : *self->entries) {
        if (entry.result != nullptr && entry.result != dtype) continue;
        Given given;
        const bool taken = entry.way == Way::Fills ? prepare_filling(self, entry, arguments, target, output, given)
                                                   : prepare_all(self, entry, arguments, count, target, output, given);
        if (PyErr_Occurred()) return nullptr;
        if (!taken) continue;
        Reference value(nullptr);
        const size_t handed = given.count;
        if (entry.way == Way::Fills) {
            PyObject* keyword = out_only();
            if (keyword == nullptr) return nullptr;
            given.add(reinterpret_cast<PyObject*>(output));
            value.keep(run_kernel(entry.function, given.arguments + 1, handed | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                  keyword));
        } else {
            value.keep(run_kernel(entry.function, given.arguments + 1, handed | PY_VECTORCALL_ARGUMENTS_OFFSET));
        }
        if (!value) return nullptr;
        if (value.get() == Py_NotImplemented && entry.way == Way::Any) continue;
        return count_write(target) ? Py_NewRef(target) : nullptr;
    }
    return handed_over(&self->head, arguments, flags, names);
}

PyObject* make(PyTypeObject* type, PyObject* otherwise, Py_ssize_t operands, PyObject* defaults, bool into_last,
               PyObject* entries) {
    if (operands < 1 || operands + PyTuple_GET_SIZE(defaults) > static_cast<Py_ssize_t>(MOST_ARGUMENTS)) {
        PyErr_SetString(PyExc_ValueError, "writers take one to 12 arguments beside the output");
        return nullptr;
    }
    Writer* made = reinterpret_cast<Writer*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    Reference owner(reinterpret_cast<PyObject*>(made));
    made->head.call = writer_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->defaults = Py_NewRef(defaults);
    made->operands = static_cast<size_t>(operands);
    made->into_last = into_last;
    made->entries = new std::vector<Entry>;
    made->entries_told = PyList_GetSlice(entries, 0, PyList_GET_SIZE(entries));
    if (made->entries_told == nullptr) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(made->entries_told); ++i) {
        Entry entry;
        int way, takes_int, takes_float;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(made->entries_told, i), "OOOOipp", &entry.dtype, &entry.result,
                              &entry.function, &entry.also, &way, &takes_int, &takes_float))
            return nullptr;
        if (way < 0 || way > 2 || (way != 0 && into_last)) {
            PyErr_SetString(PyExc_ValueError, "writers know no such way to call a function");
            return nullptr;
        }
        if (entry.dtype == Py_None) entry.dtype = nullptr;
        if (entry.result == Py_None) entry.result = nullptr;
        if (entry.also == Py_None) entry.also = nullptr;
        entry.way = static_cast<Way>(way);
        entry.takes_int = takes_int != 0;
        entry.takes_float = takes_float != 0;
        made->entries->push_back(entry);
    }
    return owner.release();
}

// Writer(otherwise, operands, defaults, into_last, entries); an entry is
// (dtype, result, function, also, way, takes_int, takes_float).
PyObject* writer_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *defaults, *entries;
    Py_ssize_t operands;
    int into_last;
    if (!PyArg_ParseTuple(args, "OnO!pO!", &otherwise, &operands, &PyTuple_Type, &defaults, &into_last, &PyList_Type,
                          &entries))
        return nullptr;
    return make(type, otherwise, operands, defaults, into_last != 0, entries);
}

// before(otherwise): the same before another executor.
PyObject* writer_before(PyObject* object, PyObject* otherwise) {
    Writer* self = reinterpret_cast<Writer*>(object);
    return make(Py_TYPE(object), otherwise, static_cast<Py_ssize_t>(self->operands), self->defaults, self->into_last,
                self->entries_told);
}

int writer_traverse(PyObject* object, visitproc visit, void* arg) {
    Writer* self = reinterpret_cast<Writer*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->head.otherwise);
    Py_VISIT(self->defaults);
    Py_VISIT(self->entries_told);
    return 0;
}

int writer_clear(PyObject* object) {
    Writer* self = reinterpret_cast<Writer*>(object);
    std::vector<Entry>* entries = self->entries;
    self->entries = nullptr;
    delete entries;
    Py_CLEAR(self->head.otherwise);
    Py_CLEAR(self->defaults);
    Py_CLEAR(self->entries_told);
    return 0;
}

void writer_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    writer_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyMemberDef writer_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The executor that takes every other call."},
    {"entries", T_OBJECT, offsetof(Writer, entries_told), READONLY, "What it was made of."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef writer_methods[] = {
    {"before", writer_before, METH_O, "before(otherwise): the same before another executor"},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot writer_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(writer_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(writer_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(writer_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(writer_dealloc)},
    {Py_tp_members, writer_members},
    {Py_tp_methods, writer_methods},
    {0, nullptr},
};

PyType_Spec writer_spec = {"mt_backend_cpu._native.Writer", sizeof(Writer), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, writer_slots};

// Memory that is written without a kernel. Each returns NotImplemented where it leaves the call alone.

PyArrayObject* plain_rows(PyObject* object) {
    if (!PyArray_CheckExact(object)) return nullptr;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(object);
    const bool plain = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISWRITEABLE(array) && PyArray_ISALIGNED(array) &&
                       !PyDataType_REFCHK(PyArray_DESCR(array));
    return plain ? array : nullptr;
}

// Larger ones are copied and filled in several threads, elsewhere.
constexpr npy_intp MOST_BYTES = 1 << 16;

// copy_into(target, source, non_blocking)
PyObject* copy_into(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "copy_into")) return refused(names, "copy_into");
    PyArrayObject* target = plain_rows(arguments[0]);
    PyArrayObject* source = array_of(arguments[1], "copy_into", 2);
    if (source == nullptr) return nullptr;
    if (target == nullptr || target == source || PyArray_NBYTES(target) > MOST_BYTES ||
        !PyArray_IS_C_CONTIGUOUS(source) || PyArray_DESCR(source) != PyArray_DESCR(target) ||
        !PyArray_SAMESHAPE(target, source))
        Py_RETURN_NOTIMPLEMENTED;
    std::memmove(PyArray_BYTES(target), PyArray_BYTES(source), static_cast<size_t>(PyArray_NBYTES(target)));
    Py_RETURN_NONE;
}

template <class T>
PyObject* filled(PyArrayObject* target, T value) {
    T* to = static_cast<T*>(PyArray_DATA(target));
    const npy_intp size = PyArray_SIZE(target);
    for (npy_intp i = 0; i < size; ++i) to[i] = value;
    Py_RETURN_NONE;
}

PyObject* zeroed(PyArrayObject* target) {
    std::memset(PyArray_DATA(target), 0, static_cast<size_t>(PyArray_NBYTES(target)));
    Py_RETURN_NONE;
}

}  // namespace

PyObject* fill_with(PyArrayObject* target, PyObject* value) {
    const int type = PyArray_TYPE(target);
    if (PyFloat_CheckExact(value)) {
        const double number = PyFloat_AS_DOUBLE(value);
        // Infinities and NaN as well are for the core to look at.
        if (!(std::fabs(number) < 3e38)) Py_RETURN_NOTIMPLEMENTED;
        if (type == NPY_FLOAT) return filled(target, static_cast<float>(number));
        if (type == NPY_DOUBLE) return filled(target, number);
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (!PyLong_CheckExact(value)) Py_RETURN_NOTIMPLEMENTED;
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) Py_RETURN_NOTIMPLEMENTED;
    if (type == NPY_LONG) return filled(target, static_cast<npy_long>(number));
    if (type == NPY_LONGLONG) return filled(target, static_cast<npy_longlong>(number));
    if (number < 0 || number > 127) Py_RETURN_NOTIMPLEMENTED;
    switch (type) {
        case NPY_FLOAT: return filled(target, static_cast<float>(number));
        case NPY_DOUBLE: return filled(target, static_cast<double>(number));
        case NPY_BOOL:
            if (number > 1) Py_RETURN_NOTIMPLEMENTED;
            return filled(target, static_cast<npy_bool>(number));
        case NPY_BYTE:
        case NPY_UBYTE: return filled(target, static_cast<int8_t>(number));
        case NPY_SHORT: return filled(target, static_cast<int16_t>(number));
        case NPY_INT: return filled(target, static_cast<npy_int>(number));
        default: Py_RETURN_NOTIMPLEMENTED;
    }
}

namespace {

// fill_into(target, number)
PyObject* fill_into(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "fill_into")) return refused(names, "fill_into");
    PyArrayObject* target = plain_rows(arguments[0]);
    if (target == nullptr || PyArray_NBYTES(target) > MOST_BYTES || !PyArray_ISNOTSWAPPED(target))
        Py_RETURN_NOTIMPLEMENTED;
    return fill_with(target, arguments[1]);
}

// zero_into(target)
PyObject* zero_into(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "zero_into")) return refused(names, "zero_into");
    PyArrayObject* target = plain_rows(arguments[0]);
    if (target == nullptr || PyArray_NBYTES(target) > MOST_BYTES) Py_RETURN_NOTIMPLEMENTED;
    const int type = PyArray_TYPE(target);
    // Of these, no bits are zero, and of them alone that is known here.
    const bool known = PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) || (type == bfloat16_number && type >= 0);
    if (!known) Py_RETURN_NOTIMPLEMENTED;
    return zeroed(target);
}

}  // namespace

bool add_writer(PyObject* module) {
    Reference type(PyType_FromSpec(&writer_spec));
    return type && PyModule_AddObjectRef(module, "Writer", type.get()) == 0;
}

PyMethodDef writing_methods[] = {
    method("copy_into", copy_into, "copy_into(target, source, non_blocking)"),
    method("fill_into", fill_into, "fill_into(target, number)"),
    method("zero_into", zero_into, "zero_into(target)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
