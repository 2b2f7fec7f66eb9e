// Products of bfloat16 where the processor multiplies pairs of them: packed, block by block, summed in single precision.
#include <algorithm>
#include <cstring>

#if defined(__AVX512F__) && (defined(__x86_64__) || defined(_M_X64))
#include <immintrin.h>
#define MT_PAIRS
#endif

#include "kernels/math.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"

MT_NAMESPACE {
namespace {

#ifdef MT_PAIRS

bool available() { return __builtin_cpu_supports("avx512bf16"); }

// a (pairs, HEIGHT), b (pairs, ACROSS), each of two terms -> sums (HEIGHT, ACROSS), added to what stands there unless `fresh`.
__attribute__((target("avx512bf16"))) void multiply_pairs(const uint32_t* a, const uint32_t* b, int64_t pairs,
                                                          float* sums, bool fresh) {
    __m512 held[HEIGHT][2];
#pragma GCC unroll 16
    for (int i = 0; i < HEIGHT; ++i) {
        held[i][0] = fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * ACROSS);
        held[i][1] = fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * ACROSS + WIDTH);
    }
    for (int64_t k = 0; k < pairs; ++k, a += HEIGHT, b += ACROSS) {
        const __m512bh left = (__m512bh)_mm512_loadu_si512(b), right = (__m512bh)_mm512_loadu_si512(b + WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < HEIGHT; ++i) {
            const __m512bh factor = (__m512bh)_mm512_set1_epi32(static_cast<int32_t>(a[i]));
            held[i][0] = _mm512_dpbf16_ps(held[i][0], factor, left);
            held[i][1] = _mm512_dpbf16_ps(held[i][1], factor, right);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < HEIGHT; ++i) {
        _mm512_storeu_ps(sums + i * ACROSS, held[i][0]);
        _mm512_storeu_ps(sums + i * ACROSS + WIDTH, held[i][1]);
    }
}

#else

bool available() { return false; }

void multiply_pairs(const uint32_t*, const uint32_t*, int64_t, float*, bool) {}

#endif

// Pairs of terms that are gone through before the next begin: a panel and a tile of them stay in the first cache.
constexpr int64_t PAIRS = DEPTH;
// Rows and columns whose sums are kept together.
constexpr int64_t TILES = 8, PANELS = 16;

MT_INLINE uint32_t pair_of(uint16_t first, uint16_t second) {
    return static_cast<uint32_t>(first) | static_cast<uint32_t>(second) << 16;
}

// Panels [begin, end) of `PairedProduct::b`, ACROSS columns each: (pairs, ACROSS).
void pack_panels(const PairedProduct& p, uint32_t* packed, int64_t begin, int64_t end) {
    const int64_t pairs = (p.depth + 1) / 2;
    for (int64_t panel = begin; panel < end; ++panel) {
        uint32_t* to = packed + panel * pairs * ACROSS;
        const int64_t n = std::min<int64_t>(ACROSS, p.columns - panel * ACROSS);
        const uint16_t* from = p.b + panel * ACROSS * p.b_column;
        for (int64_t k = 0; k < pairs; ++k, to += ACROSS) {
            const uint16_t* first = from + 2 * k * p.b_row;
            const bool both = 2 * k + 1 < p.depth;
            const uint16_t* second = both ? first + p.b_row : first;
            const uint32_t kept = both ? 0xffff0000u : 0u;
            if (p.b_column == 1) {
                MT_VECTORIZE
                for (int64_t j = 0; j < n; ++j) to[j] = first[j] | (static_cast<uint32_t>(second[j]) << 16 & kept);
            } else {
                for (int64_t j = 0; j < n; ++j)
                    to[j] = first[j * p.b_column] | (static_cast<uint32_t>(second[j * p.b_column]) << 16 & kept);
            }
            std::fill(to + n, to + ACROSS, 0u);
        }
    }
}

// Pairs [first, first + n) of HEIGHT rows from `row`, of which those behind the last are zeros: (n, HEIGHT).
void pack_tile(const PairedProduct& p, int64_t row, int64_t first, int64_t n, uint32_t* packed) {
    for (int64_t i = 0; i < HEIGHT; ++i) {
        if (row + i >= p.rows) {
            for (int64_t k = 0; k < n; ++k) packed[k * HEIGHT + i] = 0;
            continue;
        }
        const uint16_t* from = p.a + (row + i) * p.a_row + 2 * first * p.a_column;
        const int64_t whole = std::min(n, p.depth / 2 - first);
        for (int64_t k = 0; k < whole; ++k)
            packed[k * HEIGHT + i] = pair_of(from[2 * k * p.a_column], from[(2 * k + 1) * p.a_column]);
        if (whole < n) packed[whole * HEIGHT + i] = from[2 * whole * p.a_column];
    }
}

// A block of the result: rows from block.row, columns from block.column, at most TILES * HEIGHT and PANELS * ACROSS.
void multiply_block(const PairedProduct& p, const uint32_t* panels, int64_t row, int64_t column, uint16_t* result) {
    thread_local static uint32_t tiles[TILES * HEIGHT * PAIRS];
    thread_local static float sums[TILES * PANELS * HEIGHT * ACROSS];
    const int64_t pairs = (p.depth + 1) / 2, rows = std::min<int64_t>(TILES * HEIGHT, p.rows - row);
    const int64_t columns = std::min<int64_t>(PANELS * ACROSS, p.columns - column);
    const int64_t high = (rows + HEIGHT - 1) / HEIGHT, wide = (columns + ACROSS - 1) / ACROSS;
    for (int64_t first = 0; first < pairs; first += PAIRS) {
        const int64_t n = std::min(PAIRS, pairs - first);
        for (int64_t t = 0; t < high; ++t) pack_tile(p, row + t * HEIGHT, first, n, tiles + t * HEIGHT * PAIRS);
        for (int64_t w = 0; w < wide; ++w) {
            const uint32_t* panel = panels + ((column / ACROSS + w) * pairs + first) * ACROSS;
            for (int64_t t = 0; t < high; ++t)
                multiply_pairs(tiles + t * HEIGHT * PAIRS, panel, n, sums + (t * PANELS + w) * HEIGHT * ACROSS, first == 0);
        }
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; j += ACROSS) {
            const float* from = sums + ((i / HEIGHT * PANELS + j / ACROSS) * HEIGHT + i % HEIGHT) * ACROSS;
            uint16_t* to = result + (row + i) * p.columns + column + j;
            const int64_t n = std::min<int64_t>(ACROSS, columns - j);
            const uint16_t* bias = p.bias == nullptr ? nullptr : p.bias + column + j;
            MT_VECTORIZE
            for (int64_t c = 0; c < n; ++c) to[c] = to_brain(bias == nullptr ? from[c] : from[c] + from_brain(bias[c]));
        }
}

}  // namespace

extern const PairedTable matmul;
const PairedTable matmul = {available, ACROSS, TILES * HEIGHT, PANELS * ACROSS, pack_panels, multiply_block};

}  // namespace
