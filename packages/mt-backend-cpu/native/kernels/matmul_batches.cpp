// Products of float32, packed, block by block: for batches of matrices of any layout.
#include <algorithm>
#include <cstring>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"
#include "kernels/windows.hpp"

MT_NAMESPACE {
namespace {

// Rows and columns of a block.
constexpr int64_t TILES = 16, PANELS = 4;

// to[t * pitch + i] = from[i * of_line + t * of_term] for the first `lines` of N lines, zeros for the others.
template <int N>
MT_FLAT void pack_lines(const float* from, int64_t of_line, int64_t of_term, int64_t lines, int64_t terms, float* to, int64_t pitch) {
    if (of_line == 1) {
        for (int64_t t = 0; t < terms; ++t) {
            const Vector line = load_some(from + t * of_term, lines);
            std::memcpy(to + t * pitch, &line, sizeof(float) * N);
        }
    } else if (of_term == 1) {
        for (int64_t t = 0; t < terms; t += WIDTH) {
            const int64_t some = std::min<int64_t>(WIDTH, terms - t);
            Vector rows[WIDTH];
            for (int64_t i = 0; i < WIDTH; ++i) rows[i] = i < lines ? load_some(from + i * of_line + t, some) : Vector{};
            transpose_square(rows);
            for (int64_t j = 0; j < some; ++j) std::memcpy(to + (t + j) * pitch, &rows[j], sizeof(float) * N);
        }
    } else {
        for (int64_t t = 0; t < terms; ++t)
            for (int64_t i = 0; i < N; ++i) to[t * pitch + i] = i < lines ? from[i * of_line + t * of_term] : 0.f;
    }
}

void multiply_block(const Product& p, const float* a, const float* b, float* result, int64_t row, int64_t column) {
    alignas(64) thread_local static float tiles[TILES * HEIGHT * DEPTH], panels[PANELS * ACROSS * DEPTH];
    alignas(64) float tile[HEIGHT * ACROSS];
    const int64_t rows = std::min<int64_t>(TILES * HEIGHT, p.rows - row);
    const int64_t columns = std::min<int64_t>(PANELS * ACROSS, p.columns - column);
    for (int64_t start = 0; start < p.depth; start += DEPTH) {
        const int64_t depth = std::min(DEPTH, p.depth - start);
        for (int64_t i = 0; i < rows; i += HEIGHT)
            pack_lines<HEIGHT>(a + (row + i) * p.a_row + start * p.a_column, p.a_row, p.a_column,
                               std::min<int64_t>(HEIGHT, rows - i), depth, tiles + i * DEPTH, HEIGHT);
        for (int64_t j = 0; j < columns; j += ACROSS) {
            float* panel = panels + j * DEPTH;
            for (int64_t half = 0; half < ACROSS; half += WIDTH)
                pack_lines<WIDTH>(b + (column + j + half) * p.b_column + start * p.b_row, p.b_column, p.b_row,
                                  std::max<int64_t>(0, std::min<int64_t>(WIDTH, columns - j - half)), depth, panel + half, ACROSS);
            const int64_t left = std::min<int64_t>(WIDTH, columns - j);
            const int64_t right = std::max<int64_t>(0, std::min<int64_t>(WIDTH, columns - j - WIDTH));
            for (int64_t i = 0; i < rows; i += HEIGHT) {
                const int64_t high = std::min<int64_t>(HEIGHT, rows - i);
                multiply_some(tiles + i * DEPTH, panel, depth, tile, high);
                float* to = result + (row + i) * p.columns + column + j;
                for (int64_t h = 0; h < high; ++h, to += p.columns) {
                    Vector one = load(tile + h * ACROSS), other = load(tile + h * ACROSS + WIDTH);
                    if (start != 0) {
                        one += load_some(to, left);
                        other += load_some(to + WIDTH, right);
                    }
                    store_some(one, to, left);
                    store_some(other, to + WIDTH, right);
                }
            }
        }
    }
}

}  // namespace

extern const ProductTable matmul_batches;
const ProductTable matmul_batches = {TILES * HEIGHT, PANELS * ACROSS, multiply_block};

}  // namespace
