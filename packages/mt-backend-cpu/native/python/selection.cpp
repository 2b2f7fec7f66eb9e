// Places and elements that are chosen by what they are, and the different ones among integers.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Pieces in which what is chosen is counted first, so that each knows where its own begins.
constexpr int64_t PIECE = 2 * GRAIN;
// Rows that are not worth a call each.
constexpr int64_t NARROW = 64;

// Which of the functions of an element type (bool, int32, int64, float32, float64); -1 for others.
int kind_of(PyArrayObject* x) {
    switch (PyArray_TYPE(x)) {
        case NPY_BOOL: return 0;
        case NPY_INT: return 1;
        case NPY_LONG: return sizeof(npy_long) == 8 ? 2 : 1;
        case NPY_FLOAT: return 3;
        case NPY_DOUBLE: return 4;
        default: return -1;
    }
}

// How many are chosen before each piece, and of all of them, behind the last.
std::vector<int64_t> counted_pieces(int64_t (*count)(const void*, int64_t), const char* x, int64_t itemsize, int64_t n,
                                    int64_t piece) {
    const int64_t pieces = (n + piece - 1) / piece;
    std::vector<int64_t> before(static_cast<size_t>(pieces + 1));
    parallel(pieces, std::max<int64_t>(1, 2 * GRAIN / piece), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
            before[static_cast<size_t>(p + 1)] = count(x + p * piece * itemsize, std::min(piece, n - p * piece));
    });
    for (size_t p = 1; p < before.size(); ++p) before[p] += before[p - 1];
    return before;
}

// nonzero(x) -> (K, dimensions of x) on rows of K places each, or None where the element type has no kernel, and
// where there are no places or dimensions.
PyObject* nonzero(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "nonzero";
    if (names != nullptr || !counted(count, 1, name)) return refused(names, name);
    PyArrayObject* x = array_of(arguments[0], name, 1);
    if (x == nullptr) return nullptr;
    const int kind = kind_of(x), ndim = PyArray_NDIM(x);
    if (kind < 0 || !PyArray_ISCARRAY_RO(x) || !PyArray_ISNOTSWAPPED(x)) Py_RETURN_NONE;
    const int64_t n = PyArray_SIZE(x), itemsize = PyArray_ITEMSIZE(x);
    // Pieces lie within rows, whose places differ in the last dimension alone.
    const int64_t width = ndim == 0 ? 1 : PyArray_DIM(x, ndim - 1), rows = n == 0 ? 0 : n / width;
    const int64_t each = n == 0 ? 1 : std::max<int64_t>(1, PIECE / width), piece = each * std::max<int64_t>(width, 1);
    const char* from = PyArray_BYTES(x);
    const SelectionTable* table = kernels().selection;
    std::vector<int64_t> before;
    {
        Released released(n > GRAIN);
        before = counted_pieces(table->count[kind], from, itemsize, n, piece);
    }
    const int64_t many = before.back();
    if (many == 0 || ndim == 0) Py_RETURN_NONE;  // NumPy forgets the strides of nothing
    const npy_intp shape[2] = {ndim, static_cast<npy_intp>(many)};
    Reference places(new_array(2, shape, NPY_INT64));
    if (!places) return nullptr;
    int64_t* to = static_cast<int64_t*>(PyArray_DATA(places.array()));
    {
        Released released(n > GRAIN);
        int64_t* last = to + (ndim - 1) * many;
        parallel(static_cast<int64_t>(before.size()) - 1, std::max<int64_t>(1, 2 * GRAIN / piece), [&](int64_t begin, int64_t end) {
            std::vector<int64_t> flat;
            for (int64_t p = begin; p < end; ++p) {
                int64_t k = before[static_cast<size_t>(p)];
                if (ndim > 1 && width < NARROW) {
                    const int64_t first = p * piece, found = before[static_cast<size_t>(p) + 1] - k;
                    flat.resize(static_cast<size_t>(found));
                    table->find[kind](from + first * itemsize, std::min(piece, n - first), first, flat.data());
                    for (int64_t i = 0; i < found; ++i) {
                        int64_t rest = flat[static_cast<size_t>(i)];
                        for (int d = ndim - 1; d >= 0; --d) {
                            to[d * many + k + i] = rest % PyArray_DIM(x, d);
                            rest /= PyArray_DIM(x, d);
                        }
                    }
                    continue;
                }
                for (int64_t row = p * each; row < std::min(rows, (p + 1) * each); ++row) {
                    const char* elements = from + row * width * itemsize;
                    const int64_t found = ndim == 1 ? before[static_cast<size_t>(p) + 1] - k : table->count[kind](elements, width);
                    table->find[kind](elements, width, 0, last + k);
                    int64_t rest = row;
                    for (int d = ndim - 2; d >= 0; --d) {
                        std::fill_n(to + d * many + k, found, rest % PyArray_DIM(x, d));
                        rest /= PyArray_DIM(x, d);
                    }
                    k += found;
                }
            }
        });
    }
    return PyArray_Transpose(places.array(), nullptr);
}

// choose(x, mask) -> (K, *R): of x (*M, *R) what stands where the mask (*M) is true; None for others than row-major arrays.
PyObject* choose(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "choose";
    if (names != nullptr || !counted(count, 2, name)) return refused(names, name);
    PyArrayObject* x = array_of(arguments[0], name, 1);
    PyArrayObject* mask = x == nullptr ? nullptr : array_of(arguments[1], name, 2);
    if (mask == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(x), over = PyArray_NDIM(mask);
    bool fits = PyArray_TYPE(mask) == NPY_BOOL && PyArray_ISCARRAY_RO(mask) && PyArray_ISCARRAY_RO(x) && over > 0 &&
                over <= ndim && !PyDataType_REFCHK(PyArray_DESCR(x));
    for (int d = 0; d < over && fits; ++d) fits = PyArray_DIM(mask, d) == PyArray_DIM(x, d);
    if (!fits) Py_RETURN_NONE;
    const int64_t n = PyArray_SIZE(mask);
    int64_t row = PyArray_ITEMSIZE(x);
    for (int d = over; d < ndim; ++d) row *= PyArray_DIM(x, d);
    const int which = row == 1 ? 0 : row == 2 ? 1 : row == 4 ? 2 : row == 8 ? 3 : -1;
    const SelectionTable* table = kernels().selection;
    const uint8_t* chosen = reinterpret_cast<const uint8_t*>(PyArray_BYTES(mask));
    const char* from = PyArray_BYTES(x);
    const bool large = n > GRAIN || (n > 1 && row > GRAIN / n);
    std::vector<int64_t> before;
    {
        Released released(large);
        before = counted_pieces(table->count[0], PyArray_BYTES(mask), 1, n, PIECE);
    }
    npy_intp shape[NPY_MAXDIMS];
    shape[0] = static_cast<npy_intp>(before.back());
    std::copy_n(PyArray_DIMS(x) + over, ndim - over, shape + 1);
    PyArray_Descr* element = PyArray_DESCR(x);
    Py_INCREF(element);
    Reference result(new_of(element, ndim - over + 1, shape));
    if (!result || row == 0 || before.back() == 0) return result.release();
    char* to = PyArray_BYTES(result.array());
    Released released(large);
    parallel(static_cast<int64_t>(before.size()) - 1, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
            const int64_t first = p * PIECE, some = std::min(PIECE, n - first);
            char* target = to + before[static_cast<size_t>(p)] * row;
            if (which >= 0) {
                table->choose[which](chosen + first, from + first * row, some, target);
                continue;
            }
            for (int64_t i = first; i < first + some; ++i) {
                if (!chosen[i]) continue;
                std::memcpy(target, from + i * row, static_cast<size_t>(row));
                target += row;
            }
        }
    });
    return result.release();
}

// distinct(x, inverse, counts) -> (values, inverse or None, counts or None) of integers, in order; None where they lie so far
// apart that sorting them is quicker.
PyObject* distinct(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "distinct";
    if (names != nullptr || !counted(count, 3, name)) return refused(names, name);
    PyArrayObject* x = array_of(arguments[0], name, 1);
    if (x == nullptr) return nullptr;
    const int inverse = PyObject_IsTrue(arguments[1]), counts = PyObject_IsTrue(arguments[2]);
    if (inverse < 0 || counts < 0) return nullptr;
    const int which = kind_of(x) - 1;
    if (which < 0 || which > 1 || !PyArray_ISCARRAY_RO(x) || !PyArray_ISNOTSWAPPED(x) || PyArray_SIZE(x) == 0)
        Py_RETURN_NONE;
    const SelectionTable* table = kernels().selection;
    const int64_t n = PyArray_SIZE(x), itemsize = PyArray_ITEMSIZE(x);
    const char* from = PyArray_BYTES(x);
    // As many tallies as threads, where they are small beside the elements; sums of integers do not depend on it.
    int64_t least, greatest;
    std::vector<int64_t> tally;
    {
        Released released(n > GRAIN);
        table->range[which](from, n, &least, &greatest);
        const uint64_t size = static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least);
        if (size < static_cast<uint64_t>(n) / 4 + 1024) {
            const int64_t held = static_cast<int64_t>(size) + 1;
            const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(num_threads(), n / (8 * GRAIN)));
            tally.assign(static_cast<size_t>(held * parts), 0);
            const int64_t share = (n + parts - 1) / parts;
            parallel(parts, 1, [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p)
                    table->tally[which](from + p * share * itemsize, std::min(share, n - p * share), least,
                                        tally.data() + p * held);
            });
            for (int64_t i = held; i < held * parts; ++i) tally[static_cast<size_t>(i % held)] += tally[static_cast<size_t>(i)];
            tally.resize(static_cast<size_t>(held));
        }
    }
    if (tally.empty()) Py_RETURN_NONE;
    const npy_intp many = static_cast<npy_intp>(tally.size() - static_cast<size_t>(std::count(tally.begin(), tally.end(), 0)));
    PyArray_Descr* element = PyArray_DESCR(x);
    Py_INCREF(element);
    Reference values(new_of(element, 1, &many)), numbers(counts ? new_array(1, &many, NPY_INT64) : Py_NewRef(Py_None)),
        places(inverse ? new_array(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64) : Py_NewRef(Py_None));
    if (!values || !numbers || !places) return nullptr;
    int64_t k = 0;
    for (size_t i = 0; i < tally.size(); ++i) {
        if (tally[i] == 0) continue;
        const int64_t value = least + static_cast<int64_t>(i);
        if (which == 0)
            static_cast<int32_t*>(PyArray_DATA(values.array()))[k] = static_cast<int32_t>(value);
        else
            static_cast<int64_t*>(PyArray_DATA(values.array()))[k] = value;
        if (counts) static_cast<int64_t*>(PyArray_DATA(numbers.array()))[k] = tally[i];
        tally[i] = k++;
    }
    if (inverse) {
        int64_t* to = static_cast<int64_t*>(PyArray_DATA(places.array()));
        Released released(n > GRAIN);
        parallel(n, GRAIN, [&](int64_t begin, int64_t end) {
            table->look_up[which](from + begin * itemsize, end - begin, least, tally.data(), to + begin);
        });
    }
    return PyTuple_Pack(3, values.get(), places.get(), numbers.get());
}

}  // namespace

PyMethodDef selection_methods[] = {
    method("nonzero", nonzero, "nonzero(x) -> (K, dimensions of x); None where the element type has no kernel"),
    method("choose", choose, "choose(x, mask) -> what stands where the mask is true; None where an array is not row-major"),
    method("distinct", distinct, "distinct(x, inverse, counts) -> (values, inverse, counts) of integers; None where they lie far apart"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
