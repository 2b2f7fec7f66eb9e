// What bindings need of NumPy's arrays, and the loop that brings arrays of any layout to kernels over contiguous memory.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
// Built with NumPy 2, the library runs with 1.26 as well; built with 1.26, with that alone.
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL mt_native_array_api
#ifndef MT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#if NPY_ABI_VERSION < 0x02000000
inline npy_intp PyDataType_ELSIZE(const PyArray_Descr* element) { return element->elsize; }
#endif

#include <cstdint>

#include "kernels/tables.hpp"

namespace mt {

// Below so many elements, of the cost of an exponential, dividing the work costs more than it saves; measured.
constexpr int64_t GRAIN = 16384;

// The number that NumPy gave the element type bfloat16 of ml_dtypes, -1 while it is not there.
extern int bfloat16_number;

// An owned reference, dropped at the end of the scope unless it is released.
class Reference {
public:
    explicit Reference(PyObject* object) : object_(object) {}
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;
    ~Reference() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object_); }
    explicit operator bool() const { return object_ != nullptr; }
    void reset(PyObject* object) {
        Py_XDECREF(object_);
        object_ = object;
    }
    // Takes over a reference where there is none, and lends it.
    PyObject* keep(PyObject* object) { return object_ = object; }
    PyObject* release() {
        PyObject* given = object_;
        object_ = nullptr;
        return given;
    }

private:
    PyObject* object_;
};

// Without the GIL while kernels run for long.
class Released {
public:
    explicit Released(bool wanted) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() {
        if (state_ != nullptr) PyEval_RestoreThread(state_);
    }

private:
    PyThreadState* state_;
};

// The element types that kernels take.
enum class Element { Float32, BFloat16, Float16, Other };

inline Element element_of(PyArrayObject* array) {
    const int number = PyArray_TYPE(array);
    if (number == NPY_FLOAT) return PyArray_ISNOTSWAPPED(array) ? Element::Float32 : Element::Other;
    if (number == NPY_HALF) return PyArray_ISNOTSWAPPED(array) ? Element::Float16 : Element::Other;
    return number == bfloat16_number && number >= 0 ? Element::BFloat16 : Element::Other;
}

// The array, borrowed; null with a TypeError where the object is no array.
PyArrayObject* array_of(PyObject* object, const char* function, int position);

// As `array_of`; row-major and aligned float32, or null with an error.
PyArrayObject* float_rows(PyObject* object, const char* function, int position);

// New row-major arrays, on memory that is kept when they end where they are large (python/memory.cpp). `new_of` takes over
// the reference to the element type.
PyObject* new_of(PyArray_Descr* element, int ndim, const npy_intp* shape);
PyObject* new_array(int ndim, const npy_intp* shape, int type);
PyObject* new_zeros(int ndim, const npy_intp* shape, int type);
// The same that lies as another one does, of its element type where there is no other.
PyObject* new_laid_out_as(PyArrayObject* array, PyArray_Descr* element);

// The large arrays of NumPy's functions too, in this thread's context from now on; false with an error.
bool keep_memory_here();

// A new row-major array of an array's shape and element type.
PyObject* new_like(PyArrayObject* array);

// Whether an array (n, channels, *) lies as (n, *, channels) does row by row.
bool channels_innermost(PyArrayObject* x);

// The only keyword that functions of arrays take, `out=`, or null; false with an error where there is another.
bool only_out(PyObject* const* arguments, Py_ssize_t count, PyObject* names, const char* function, PyObject** out);

// Elementwise: `f(arguments...)`, broadcast, into `out` or into a new array of the arguments' common shape.
PyObject* map_arrays(Map f, PyObject* x, PyObject* out, const char* function);
// `brain`, where it is given, takes rows of bfloat16 as they are.
PyObject* map2_arrays(Map2 f, PyObject* a, PyObject* b, PyObject* out, const char* function, Map2Brain brain = nullptr);
// The same of up to three arrays and numbers beside them.
PyObject* map_many_arrays(MapMany f, PyObject* const* given, int count, const float* numbers, PyObject* out,
                          const char* function);

}  // namespace mt
