#include "core/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "core/parallel.hpp"

namespace mt {
namespace {

struct Block {
    void* place;
    size_t size;
};

constexpr size_t PAGE = 4096, HUGE_PAGE = size_t{1} << 21;
// What may be kept beside as much as is in use.
constexpr size_t SLACK = size_t{1} << 28;

// Sizes in eight steps from one power of two to the next, so that arrays of nearly one size use each other's memory.
size_t rounded(size_t bytes) {
    size_t step = LARGE_BLOCK / 8;
    while (step * 16 <= bytes && step < SIZE_MAX / 32) step *= 2;
    return (bytes + step - 1) / step * step;
}

// Where blocks begin within their first page, in turn: what arrays hold at one index would otherwise be in one set of the
// caches, which a kernel of three arrays and a few rows fills.
constexpr size_t COLOUR = 320;  // five lines, which have no divisor in common with the 64 of a page

// Memory of the system, cleared; large blocks at boundaries of large pages, of which the system then may make them.
void* mapped(size_t size) {
    static size_t colour = 0;  // the caller holds the lock
    colour = (colour + COLOUR) % PAGE;
    size += PAGE;
    const size_t more = size >= 2 * HUGE_PAGE ? HUGE_PAGE : 0;
    void* found = mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    char* begin = static_cast<char*>(found);
    if (more == 0) return begin + colour;
    const size_t before = (HUGE_PAGE - reinterpret_cast<uintptr_t>(begin) % HUGE_PAGE) % HUGE_PAGE;
    if (before != 0) munmap(begin, before);
    if (before != more) munmap(begin + before + size, more - before);
#if defined(MADV_HUGEPAGE)
    madvise(begin + before, size, MADV_HUGEPAGE);
#endif
    return begin + before + colour;
}

void unmap(void* place, size_t size) {
    munmap(static_cast<char*>(place) - reinterpret_cast<uintptr_t>(place) % PAGE, size + PAGE);
}

void clear(void* place, size_t bytes) {
    char* to = static_cast<char*>(place);
    parallel(static_cast<int64_t>(bytes), int64_t{1} << 19, [to](int64_t begin, int64_t end) {
        std::memset(to + begin, 0, static_cast<size_t>(end - begin));
    });
}

class Blocks {
public:
    void* take(size_t bytes, bool zeros) {
        if (bytes > SIZE_MAX / 4) return nullptr;
        const size_t size = rounded(bytes);
        void* place = nullptr;
        bool cleared = false;
        {
            std::lock_guard<std::mutex> hold(mutex_);
            // The one that was given last is the likeliest to be in the processor's caches.
            for (size_t i = kept_.size(); i-- > 0 && place == nullptr;)
                if (kept_[i].size == size) {
                    place = kept_[i].place;
                    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
                    kept_bytes_ -= size;
                }
            if (place == nullptr) {
                // Kept blocks of other sizes must not make the process larger than it has been.
                keep_at_most(std::max(most_, in_use_ + size) + SLACK / 4 - (in_use_ + size));
                place = mapped(size);
                if (place == nullptr && !kept_.empty()) {
                    keep_at_most(0);
                    place = mapped(size);
                }
                if (place == nullptr) return nullptr;
                cleared = true;
            }
            try {
                taken_.emplace(place, size);
            } catch (const std::bad_alloc&) {
                unmap(place, size);
                return nullptr;
            }
            in_use_ += size;
            most_ = std::max(most_, in_use_);
        }
        if (zeros && !cleared) clear(place, bytes);
        return place;
    }

    size_t size_of(void* place) {
        std::lock_guard<std::mutex> hold(mutex_);
        const auto found = taken_.find(place);
        return found == taken_.end() ? 0 : found->second;
    }

    bool give(void* place) {
        std::lock_guard<std::mutex> hold(mutex_);
        const auto found = taken_.find(place);
        if (found == taken_.end()) return false;
        const size_t size = found->second;
        taken_.erase(found);
        in_use_ -= size;
        try {
            kept_.push_back({place, size});
            kept_bytes_ += size;
        } catch (const std::bad_alloc&) {
            unmap(place, size);
        }
        keep_at_most(in_use_ + SLACK);
        return true;
    }

    BlockCounts counts() {
        std::lock_guard<std::mutex> hold(mutex_);
        return {static_cast<int64_t>(in_use_), static_cast<int64_t>(kept_bytes_), static_cast<int64_t>(most_)};
    }

    void release() {
        std::lock_guard<std::mutex> hold(mutex_);
        keep_at_most(0);
        most_ = in_use_;
    }

private:
    // Gives back those that were given first.
    void keep_at_most(size_t bytes) {
        size_t gone = 0;
        while (kept_bytes_ > bytes) {
            unmap(kept_[gone].place, kept_[gone].size);
            kept_bytes_ -= kept_[gone++].size;
        }
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
    }

    std::mutex mutex_;
    std::vector<Block> kept_;
    std::unordered_map<void*, size_t> taken_;
    size_t in_use_ = 0, kept_bytes_ = 0, most_ = 0;
};

// Never destroyed: arrays end after everything else.
Blocks& blocks() {
    static Blocks* const made = new Blocks;
    return *made;
}

}  // namespace

static_assert(LARGE_BLOCK % (8 * PAGE) == 0, "blocks of every size are whole pages");
static_assert(COLOUR % 64 == 0, "blocks are aligned for every instruction");

void* take_block(size_t bytes, bool zeros) { return blocks().take(bytes, zeros); }

size_t block_size(void* block) { return blocks().size_of(block); }

bool give_block(void* block) { return blocks().give(block); }

BlockCounts block_counts() { return blocks().counts(); }

void release_kept_blocks() { blocks().release(); }

}  // namespace mt
