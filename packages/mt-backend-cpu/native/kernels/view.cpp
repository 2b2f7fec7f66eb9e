// Transposition of rectangles, in vectors.
#include <cstring>
#include <utility>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

constexpr int BYTES = WIDTH * 4;

#ifdef MT_SHUFFLES

// N vectors of N elements, transposed in registers: log2 N rounds, in each of which vectors i and i + N / 2 are interleaved.
template <class T>
struct Square {
    static constexpr int N = BYTES / static_cast<int>(sizeof(T));
    typedef T Row __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));

    template <size_t... I>
    static MT_INLINE void round(Row* rows, std::index_sequence<I...>) {
        constexpr int HALF = N / 2;
        Row made[N];
#pragma GCC unroll 32
        for (int i = 0; i < HALF; ++i) {
            made[2 * i] = __builtin_shufflevector(rows[i], rows[i + HALF], (I % 2 * N + I / 2)...);
            made[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + HALF], (I % 2 * N + HALF + I / 2)...);
        }
#pragma GCC unroll 32
        for (int i = 0; i < N; ++i) rows[i] = made[i];
    }

    // to[a * to_row + b] = from[b * from_row + a], steps in bytes.
    static MT_FLAT void transpose(char* to, int64_t to_row, const char* from, int64_t from_row) {
        Row rows[N];
#pragma GCC unroll 32
        for (int i = 0; i < N; ++i) rows[i] = *reinterpret_cast<const Row*>(from + i * from_row);
#pragma GCC unroll 8
        for (int size = 1; size < N; size *= 2) round(rows, std::make_index_sequence<static_cast<size_t>(N)>());
#pragma GCC unroll 32
        for (int i = 0; i < N; ++i) *reinterpret_cast<Row*>(to + i * to_row) = rows[i];
    }
};

#else

// Compilers of before 2022 interleave nothing: element by element.
template <class T>
struct Square {
    static constexpr int N = BYTES / static_cast<int>(sizeof(T));

    static void transpose(char* to, int64_t to_row, const char* from, int64_t from_row) {
        for (int a = 0; a < N; ++a)
            for (int b = 0; b < N; ++b)
                std::memcpy(to + a * to_row + b * static_cast<int64_t>(sizeof(T)),
                            from + b * from_row + a * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
};

#endif

template <class T>
void transpose(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
    constexpr int64_t N = Square<T>::N, SIZE = sizeof(T);
    int64_t a = 0;
    for (; a + N <= rows; a += N) {
        int64_t b = 0;
        for (; b + N <= columns; b += N)
            Square<T>::transpose(to + a * to_row + b * SIZE, to_row, from + b * from_row + a * SIZE, from_row);
        for (; b < columns; ++b)
            for (int64_t i = a; i < a + N; ++i) std::memcpy(to + i * to_row + b * SIZE, from + b * from_row + i * SIZE, SIZE);
    }
    for (; a < rows; ++a)
        for (int64_t b = 0; b < columns; ++b) std::memcpy(to + a * to_row + b * SIZE, from + b * from_row + a * SIZE, SIZE);
}

}  // namespace

extern const ViewTable view;
const ViewTable view = {{transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>}};

}  // namespace
