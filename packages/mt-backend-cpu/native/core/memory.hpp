// Memory of large arrays, which is kept when they end: what the system gives anew it clears page by page, which takes longer
// than most operators do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt {

// Blocks of at least so many bytes are kept; they begin at pages.
constexpr size_t LARGE_BLOCK = size_t{1} << 18;

// A block of at least so many bytes, LARGE_BLOCK or more, of zeros where they are asked for; null where there is none.
void* take_block(size_t bytes, bool zeros);

// How many bytes a block that was taken holds, 0 for other memory.
size_t block_size(void* block);

// False where it is no block that was taken.
bool give_block(void* block);

struct BlockCounts {
    int64_t in_use, kept, most_in_use;
};

BlockCounts block_counts();

// Gives what is kept back to the system.
void release_kept_blocks();

}  // namespace mt
