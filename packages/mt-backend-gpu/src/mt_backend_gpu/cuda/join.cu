// Joining arrays along a dimension in one launch.

#define MAX_JOINED 64
// Arrays that are row-major: array k is (outer, width[k]) elements, the result (outer, total), array k at `start[k]`.
struct Joined { i64 count; const void* array[MAX_JOINED]; i64 width[MAX_JOINED]; i64 start[MAX_JOINED]; };
// Word is a type of the elements' size, of which widths are multiples. blockIdx.y is the array.
template <class Word>
__global__ void cat(Joined joined, i64 outer, i64 total, Word* out) {
    i64 width = joined.width[blockIdx.y], start = joined.start[blockIdx.y], count = outer * width;
    const Word* in = (const Word*)joined.array[blockIdx.y];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        i64 row = outer == 1 ? 0 : i / width;
        out[row * total + start + (i - row * width)] = in[i];
    }
}
