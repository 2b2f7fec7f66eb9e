// Cumulative sums.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Rows that are summed side by side, where the addition of one row would wait for itself.
constexpr int ROWS = 8;
// Columns that are read before any is written: rows of a power of two lie in one set of the caches.
constexpr int64_t TILE = 16;
// Columns whose running sums stand side by side.
constexpr int64_t COLUMNS = 256;

void along_rows(const float* x, float* result, int64_t rows, int64_t length) {
    int64_t r = 0;
    for (; r + ROWS <= rows; r += ROWS) {
        double running[ROWS] = {};
        const float* from = x + r * length;
        float* to = result + r * length;
        int64_t start = 0;
        for (; start + TILE <= length; start += TILE) {
            float tile[ROWS][TILE];
            for (int k = 0; k < ROWS; ++k)
                for (int64_t i = 0; i < TILE; ++i) tile[k][i] = from[k * length + start + i];
            for (int64_t i = 0; i < TILE; ++i)
                for (int k = 0; k < ROWS; ++k) {
                    running[k] += static_cast<double>(tile[k][i]);
                    tile[k][i] = static_cast<float>(running[k]);
                }
            for (int k = 0; k < ROWS; ++k)
                for (int64_t i = 0; i < TILE; ++i) to[k * length + start + i] = tile[k][i];
        }
        for (; start < length; ++start)
            for (int k = 0; k < ROWS; ++k) {
                running[k] += static_cast<double>(from[k * length + start]);
                to[k * length + start] = static_cast<float>(running[k]);
            }
    }
    for (; r < rows; ++r) {
        double running = 0;
        for (int64_t i = 0; i < length; ++i) {
            running += static_cast<double>(x[r * length + i]);
            result[r * length + i] = static_cast<float>(running);
        }
    }
}

void cumsum(const float* x, float* result, int64_t outer, int64_t length, int64_t inner) {
    if (inner == 1) {
        along_rows(x, result, outer, length);
        return;
    }
    for (int64_t o = 0; o < outer; ++o, x += length * inner, result += length * inner)
        for (int64_t start = 0; start < inner; start += COLUMNS) {
            const int64_t count = inner - start < COLUMNS ? inner - start : COLUMNS;
            double running[COLUMNS] = {};
            for (int64_t i = 0; i < length; ++i) {
                const float* from = x + i * inner + start;
                float* to = result + i * inner + start;
                MT_VECTORIZE
                for (int64_t k = 0; k < count; ++k) {
                    running[k] += static_cast<double>(from[k]);
                    to[k] = static_cast<float>(running[k]);
                }
            }
        }
}

}  // namespace

extern const ScanTable reduction_scan;
const ScanTable reduction_scan = {cumsum};

}  // namespace
