// One pool of threads for all kernels.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mt {

// How many threads a kernel may use, this one included.
int num_threads();
void set_num_threads(int count);

namespace detail {
using Part = void (*)(void* context, int64_t begin, int64_t end);
void run_parts(int64_t count, int64_t grain, void* context, Part part);
}  // namespace detail

// Calls `part(begin, end)` for ranges that cover [0, count) and hold at least `grain` each, where there is more than
// one. Ranges begin at multiples of `grain`, so that what a kernel does in steps of it is independent of the number of
// threads. A call from within a part, or beside another thread's call, runs in this thread alone.
template <class F>
void parallel(int64_t count, int64_t grain, F&& part) {
    using Function = std::remove_reference_t<F>;
    if (count <= grain || num_threads() == 1) {
        if (count > 0) part(int64_t{0}, count);
        return;
    }
    detail::run_parts(count, grain, const_cast<void*>(static_cast<const void*>(&part)),
                      [](void* context, int64_t begin, int64_t end) {
                          (*static_cast<Function*>(context))(begin, end);
                      });
}

}  // namespace mt
