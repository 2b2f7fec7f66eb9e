// Arrays on memory that is kept when they end.
#include <cstring>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// What NumPy calls for the memory of arrays. Small arrays stay with NumPy's own functions, which keep them too. NumPy tells
// the size of what it gives back, but not of what it enlarges.

PyDataMemAllocator small;

void* make(void*, size_t size) { return size < LARGE_BLOCK ? small.malloc(small.ctx, size) : take_block(size, false); }

void* make_zeros(void*, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    return bytes < LARGE_BLOCK ? small.calloc(small.ctx, count, size) : take_block(bytes, true);
}

void end(void*, void* place, size_t size) {
    if (place == nullptr) return;
    // What was enlarged by NumPy's functions is theirs.
    if (size < LARGE_BLOCK || !give_block(place)) small.free(small.ctx, place, size);
}

void* enlarge(void* context, void* place, size_t size) {
    const size_t before = place == nullptr ? 0 : block_size(place);
    if (before == 0) return small.realloc(small.ctx, place, size);
    if (size >= LARGE_BLOCK && size <= before) return place;
    void* made = make(context, size);
    if (made == nullptr) return nullptr;
    std::memcpy(made, place, size < before ? size : before);
    give_block(place);
    return made;
}

PyDataMem_Handler handler = {"mindtorch", 1, {nullptr, make, make_zeros, enlarge, end}};
PyObject* handler_object = nullptr;

// While it is alive, NumPy's arrays are on memory that is kept, where they are large.
class Keeping {
public:
    explicit Keeping(bool wanted) : before_(wanted ? PyDataMem_SetHandler(handler_object) : nullptr) {}
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
    ~Keeping() {
        if (before_ == nullptr) return;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        Py_XDECREF(PyDataMem_SetHandler(before_));
        Py_DECREF(before_);
        PyErr_Restore(type, value, traceback);
    }

private:
    PyObject* before_;
};

bool is_large(PyArray_Descr* element, int ndim, const npy_intp* shape) {
    size_t bytes = static_cast<size_t>(PyDataType_ELSIZE(element));
    for (int d = 0; d < ndim; ++d) {
        if (shape[d] == 0) return false;
        if (bytes < LARGE_BLOCK) bytes *= static_cast<size_t>(shape[d]);
    }
    return bytes >= LARGE_BLOCK;
}

template <bool Zeros>
PyObject* made(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* function = Zeros ? "new_zeros" : "new_empty";
    if (names != nullptr || !counted(count, 2, function)) return refused(names, function);
    PyArray_Dims shape = {nullptr, 0};
    PyArray_Descr* element = nullptr;
    PyObject* result = nullptr;
    if (PyArray_IntpConverter(arguments[0], &shape) && PyArray_DescrConverter(arguments[1], &element)) {
        Keeping keeping(is_large(element, shape.len, shape.ptr));
        result = Zeros ? PyArray_Zeros(shape.len, shape.ptr, element, 0) : PyArray_Empty(shape.len, shape.ptr, element, 0);
    }
    if (shape.ptr != nullptr) PyDimMem_FREE(shape.ptr);
    return result;
}

PyObject* memory_counts(PyObject*, PyObject*) {
    const BlockCounts counts = block_counts();
    return Py_BuildValue("{s:L,s:L,s:L}", "in_use", static_cast<long long>(counts.in_use), "kept",
                         static_cast<long long>(counts.kept), "most_in_use", static_cast<long long>(counts.most_in_use));
}

PyObject* release_memory(PyObject*, PyObject*) {
    release_kept_blocks();
    Py_RETURN_NONE;
}

}  // namespace

bool keep_memory_here() {
    PyObject* before = PyDataMem_SetHandler(handler_object);
    Py_XDECREF(before);
    return before != nullptr;
}

PyObject* new_of(PyArray_Descr* element, int ndim, const npy_intp* shape) {
    Keeping keeping(is_large(element, ndim, shape));
    return PyArray_NewFromDescr(&PyArray_Type, element, ndim, shape, nullptr, nullptr, 0, nullptr);
}

PyObject* new_array(int ndim, const npy_intp* shape, int type) {
    return new_of(PyArray_DescrFromType(type), ndim, shape);
}

PyObject* new_zeros(int ndim, const npy_intp* shape, int type) {
    PyArray_Descr* element = PyArray_DescrFromType(type);
    Keeping keeping(is_large(element, ndim, shape));
    return PyArray_Zeros(ndim, shape, element, 0);
}

PyObject* new_laid_out_as(PyArrayObject* array, PyArray_Descr* element) {
    Keeping keeping(is_large(element == nullptr ? PyArray_DESCR(array) : element, PyArray_NDIM(array), PyArray_DIMS(array)));
    return PyArray_NewLikeArray(array, NPY_KEEPORDER, element, 0);
}

bool add_memory() {
    const auto* found = static_cast<PyDataMem_Handler*>(PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler"));
    if (found == nullptr) return false;
    small = found->allocator;
    handler_object = PyCapsule_New(&handler, "mem_handler", nullptr);
    return handler_object != nullptr;
}

PyMethodDef memory_methods[] = {
    method("new_empty", made<false>, "new_empty(shape, dtype): an array on memory that is kept where it is large"),
    method("new_zeros", made<true>, "new_zeros(shape, dtype): an array on memory that is kept where it is large"),
    {"memory_counts", memory_counts, METH_NOARGS, "Bytes of large arrays: in use, kept, and the most that were in use."},
    {"release_memory", release_memory, METH_NOARGS, "Gives the memory that is kept back to the system."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
