// From one element type to another: what each holds of the other's numbers, as C++ converts.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {


template <class From, class To>
void cast(const void* x, void* result, int64_t n) {
    const From* from = static_cast<const From*>(x);
    To* to = static_cast<To*>(result);
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

template <class From>
void to_truth(const void* x, void* result, int64_t n) {
    const From* from = static_cast<const From*>(x);
    uint8_t* to = static_cast<uint8_t*>(result);
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] != From(0);
}

}  // namespace

// Whole numbers of floating-point ones are made where the processor's instruction says what is out of range, for C++ does
// not: the least number, as in NumPy. Smaller integers come by way of larger ones, and are left out.
#if defined(__x86_64__)
#define MT_WHOLE(T) cast<T, int32_t>, cast<T, int64_t>
#else
#define MT_WHOLE(T) nullptr, nullptr
#endif
#define MT_OF_INTEGER(T) \
    {to_truth<T>, cast<T, uint8_t>, cast<T, int8_t>, cast<T, int16_t>, cast<T, int32_t>, cast<T, int64_t>, cast<T, float>, cast<T, double>}
#define MT_OF_REAL(T) {to_truth<T>, nullptr, nullptr, nullptr, MT_WHOLE(T), cast<T, float>, cast<T, double>}

extern const CastTable casts;
const CastTable casts = {{
    MT_OF_INTEGER(uint8_t), MT_OF_INTEGER(uint8_t), MT_OF_INTEGER(int8_t), MT_OF_INTEGER(int16_t), MT_OF_INTEGER(int32_t),
    MT_OF_INTEGER(int64_t), MT_OF_REAL(float), MT_OF_REAL(double),
}};

#undef MT_OF_INTEGER
#undef MT_OF_REAL
#undef MT_WHOLE

}  // namespace
