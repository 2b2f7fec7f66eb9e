// The loops of NumPy's ufuncs over plain operands, divided among threads, without what a ufunc's call costs.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/parallel.hpp"
#include "python/tensors.hpp"

#include <numpy/ufuncobject.h>
#include <structmember.h>

namespace mt {
namespace {

constexpr int MOST = 3;

// A ufunc of one or two operands and one result. It takes every call itself that has no plain operands: row-major arrays of
// one element type and shape, of which one may be an array without dimensions or a Python number.
struct Loops {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* ufunc;
    bool floating;  // of floating-point numbers alone, for loops over integers that may raise errors
};

// Element types whose loops need no Python, and whose numbers `constant_of` knows.
bool is_plain(int type) {
    return type == NPY_BOOL || (type >= NPY_BYTE && type <= NPY_DOUBLE) || type == NPY_CFLOAT || type == NPY_CDOUBLE;
}

// The loop of a ufunc for operands of one element type, -1 where there is none of that very type.
int loop_of(const PyUFuncObject* ufunc, int type) {
    for (int i = 0; i < ufunc->ntypes; ++i) {
        const char* types = ufunc->types + i * ufunc->nargs;
        bool same = true;
        for (int k = 0; k < ufunc->nin; ++k) same = same && types[k] == type;
        if (same) return ufunc->functions != nullptr && ufunc->functions[i] != nullptr && is_plain(types[ufunc->nin]) ? i : -1;
    }
    return -1;
}

template <class T>
bool whole(PyObject* number, void* place) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || static_cast<long long>(static_cast<T>(value)) != value) return false;
    const T held = static_cast<T>(value);
    std::memcpy(place, &held, sizeof held);
    return true;
}

// A number as an element of a type: NumPy's own of that type, or a Python number that the type holds as it is; of floating
// point, rounded as NumPy rounds it.
bool constant_of(PyObject* number, int type, void* place) {
    if (PyArray_CheckScalar(number) && !PyArray_Check(number)) {
        PyArray_Descr* element = PyArray_DescrFromScalar(number);
        const bool same = element != nullptr && element->type_num == type;
        Py_XDECREF(element);
        if (same) PyArray_ScalarAsCtype(number, place);
        return same;
    }
    if (PyLong_CheckExact(number)) switch (type) {
            case NPY_BYTE: return whole<npy_byte>(number, place);
            case NPY_UBYTE: return whole<npy_ubyte>(number, place);
            case NPY_SHORT: return whole<npy_short>(number, place);
            case NPY_USHORT: return whole<npy_ushort>(number, place);
            case NPY_INT: return whole<npy_int>(number, place);
            case NPY_LONG: return whole<npy_long>(number, place);
            case NPY_LONGLONG: return whole<npy_longlong>(number, place);
            case NPY_FLOAT:
            case NPY_DOUBLE: break;
            default: return false;
        }
    else if (!PyFloat_CheckExact(number))
        return false;
    double value;
    if (PyLong_CheckExact(number)) {
        int overflow;
        const long long found = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow || found < -(1 << 24) || found > 1 << 24) return false;
        value = static_cast<double>(found);
    } else {
        value = PyFloat_AS_DOUBLE(number);
    }
    if (type == NPY_DOUBLE) {
        std::memcpy(place, &value, sizeof value);
        return true;
    }
    if (type != NPY_FLOAT) return false;
    const float held = static_cast<float>(value);
    std::memcpy(place, &held, sizeof held);
    return true;
}

// Whether memory that is written may be that of an operand: it is the very same elements, or none of them.
bool apart(PyArrayObject* x, PyArrayObject* written) {
    const char *one = PyArray_BYTES(x), *other = PyArray_BYTES(written);
    if (one == other && PyArray_ITEMSIZE(x) == PyArray_ITEMSIZE(written) && PyArray_SIZE(x) == PyArray_SIZE(written))
        return true;
    return one + PyArray_NBYTES(x) <= other || other + PyArray_NBYTES(written) <= one;
}

PyObject* loops_call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
    PyObject* callable = reinterpret_cast<Loops*>(self)->ufunc;
    const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(callable);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const auto otherwise = [&] { return PyObject_Vectorcall(callable, arguments, flags, names); };
    PyObject* out = nullptr;
    if (names != nullptr) {
        if (PyTuple_GET_SIZE(names) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") != 0)
            return otherwise();
        if (arguments[count] != Py_None) out = arguments[count];
    }
    if (count != ufunc->nin) return otherwise();
    // The operand that tells shape and element type.
    PyArrayObject* leading = nullptr;
    for (Py_ssize_t k = 0; k < count; ++k)
        if (PyArray_CheckExact(arguments[k]) &&
            (leading == nullptr || PyArray_NDIM(reinterpret_cast<PyArrayObject*>(arguments[k])) > PyArray_NDIM(leading)))
            leading = reinterpret_cast<PyArrayObject*>(arguments[k]);
    if (leading == nullptr || !PyArray_ISCARRAY_RO(leading) || PyArray_NDIM(leading) == 0) return otherwise();
    const int type = PyArray_TYPE(leading);
    const bool taken = is_plain(type) && !(reinterpret_cast<Loops*>(self)->floating && PyTypeNum_ISINTEGER(type));
    const int which = taken ? loop_of(ufunc, type) : -1;
    if (which < 0) return otherwise();
    char constants[MOST][16];
    char* data[MOST];
    npy_intp steps[MOST];
    for (Py_ssize_t k = 0; k < count; ++k) {
        if (!PyArray_CheckExact(arguments[k])) {
            if (!constant_of(arguments[k], type, constants[k])) return otherwise();
            data[k] = constants[k];
            steps[k] = 0;
            continue;
        }
        PyArrayObject* x = reinterpret_cast<PyArrayObject*>(arguments[k]);
        if (PyArray_TYPE(x) != type || !PyArray_ISCARRAY_RO(x)) return otherwise();
        if (PyArray_NDIM(x) == 0) {
            std::memcpy(constants[k], PyArray_BYTES(x), static_cast<size_t>(PyArray_ITEMSIZE(x)));
            data[k] = constants[k];
            steps[k] = 0;
            continue;
        }
        if (!same_shape(x, leading)) return otherwise();
        data[k] = PyArray_BYTES(x);
        steps[k] = PyArray_ITEMSIZE(x);
    }
    const int made_type = ufunc->types[which * ufunc->nargs + ufunc->nin];
    if (out != nullptr) {
        if (!PyArray_CheckExact(out)) return otherwise();
        PyArrayObject* written = reinterpret_cast<PyArrayObject*>(out);
        bool fits = PyArray_TYPE(written) == made_type && PyArray_ISCARRAY(written) && same_shape(written, leading);
        for (Py_ssize_t k = 0; k < count && fits; ++k)
            fits = steps[k] == 0 || apart(reinterpret_cast<PyArrayObject*>(arguments[k]), written);
        if (!fits) return otherwise();
        Py_INCREF(out);
    } else {
        out = new_array(PyArray_NDIM(leading), PyArray_DIMS(leading), made_type);
        if (out == nullptr) return nullptr;
    }
    Reference result(out);
    const int64_t size = PyArray_SIZE(leading);
    if (size == 0) return result.release();
    data[count] = PyArray_BYTES(result.array());
    steps[count] = PyArray_ITEMSIZE(result.array());
    const PyUFuncGenericFunction loop = ufunc->functions[which];
    void* beside = ufunc->data == nullptr ? nullptr : ufunc->data[which];
    const auto some = [&](int64_t begin, int64_t end) {
        char* of[MOST];
        npy_intp taken[MOST];
        const npy_intp n = end - begin;
        // Loops may take their steps for their own.
        for (Py_ssize_t k = 0; k <= count; ++k) {
            of[k] = data[k] + begin * steps[k];
            taken[k] = steps[k];
        }
        loop(of, &n, taken, beside);
    };
    if (size <= GRAIN) {
        some(0, size);
    } else {
        Released released(true);
        parallel(size, GRAIN, some);
    }
    return result.release();
}

PyObject* loops_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* ufunc;
    int floating = 0;
    if (!PyArg_ParseTuple(args, "O!|p", &PyUFunc_Type, &ufunc, &floating)) return nullptr;
    const auto* given = reinterpret_cast<const PyUFuncObject*>(ufunc);
    if (given->nin < 1 || given->nin > MOST - 1 || given->nout != 1 || given->core_enabled) {
        PyErr_SetString(PyExc_TypeError, "Loops takes a ufunc of one or two operands and one result");
        return nullptr;
    }
    Loops* made = reinterpret_cast<Loops*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    made->call = loops_call;
    made->ufunc = Py_NewRef(ufunc);
    made->floating = floating != 0;
    return reinterpret_cast<PyObject*>(made);
}

void loops_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_DECREF(reinterpret_cast<Loops*>(self)->ufunc);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* loops_name(PyObject* self, void*) {
    return PyObject_GetAttrString(reinterpret_cast<Loops*>(self)->ufunc, "__name__");
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Loops, call), READONLY, nullptr},
    {"ufunc", T_OBJECT, offsetof(Loops, ufunc), READONLY, "The ufunc whose loops these are."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"__name__", loops_name, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(loops_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(loops_dealloc)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"mt_backend_cpu._native.Loops", sizeof(Loops), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                    slots};

int imported() { return _import_umath(); }

}  // namespace

bool add_loops(PyObject* module) {
    if (imported() < 0) return false;
    Reference type(PyType_FromSpec(&spec));
    return type && PyModule_AddObjectRef(module, "Loops", type.get()) == 0;
}

}  // namespace mt
