#include "core/parallel.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace mt {
namespace {

class Pool {
public:
    void run(int64_t count, int64_t grain, int threads, void* context, detail::Part part) {
        const int64_t steps = (count + grain - 1) / grain;
        // More shares than threads: whoever is held up by another process takes fewer of them.
        const int64_t shares = steps < 4 * threads ? steps : 4 * threads;
        const int64_t share = (steps + shares - 1) / shares * grain;
        grow((steps < threads ? static_cast<int>(steps) : threads) - 1);
        {
            std::lock_guard<std::mutex> hold(mutex_);
            count_ = count;
            share_ = share;
            context_ = context;
            part_ = part;
            next_ = 0;
            unfinished_ = (count + share - 1) / share;
            ++generation_;
        }
        wake_.notify_all();
        work();
        std::unique_lock<std::mutex> hold(mutex_);
        done_.wait(hold, [&] { return unfinished_ == 0; });
        part_ = nullptr;
    }

private:
    // Starts threads until there are `wanted`. Where the system gives no more, those that there are do all the work.
    void grow(int wanted) {
        while (static_cast<int>(workers_.size()) < wanted) {
            try {
                workers_.emplace_back([this] { serve(); });
            } catch (const std::system_error&) {
                return;
            }
            workers_.back().detach();
        }
    }

    void serve() {
        uint64_t seen = 0;
        for (;;) {
            {
                std::unique_lock<std::mutex> hold(mutex_);
                wake_.wait(hold, [&] { return generation_ != seen && part_ != nullptr; });
                seen = generation_;
            }
            work();
        }
    }

    void work() {
        for (;;) {
            int64_t begin, end;
            void* context;
            detail::Part part;
            {
                std::lock_guard<std::mutex> hold(mutex_);
                if (part_ == nullptr || next_ >= count_) return;
                begin = next_;
                end = begin + share_ < count_ ? begin + share_ : count_;
                next_ = end;
                context = context_;
                part = part_;
            }
            part(context, begin, end);
            std::lock_guard<std::mutex> hold(mutex_);
            if (--unfinished_ == 0) done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    uint64_t generation_ = 0;
    int64_t count_ = 0, share_ = 0, next_ = 0, unfinished_ = 0;
    void* context_ = nullptr;
    detail::Part part_ = nullptr;
};

std::atomic<int> allowed{1};
// The pool is never destroyed: its threads are blocked in it when the process ends.
std::atomic<Pool*> pool{nullptr};
std::atomic_flag busy = ATOMIC_FLAG_INIT;

#if !defined(_WIN32)
// A child process has none of its parent's threads: it begins with a pool of its own.
void after_fork() {
    pool.store(nullptr);
    busy.clear();
}
#endif

Pool& the_pool() {
    Pool* made = pool.load();
    if (made == nullptr) {
        made = new Pool;
        pool.store(made);
#if !defined(_WIN32)
        static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
        (void)registered;
#endif
    }
    return *made;
}

}  // namespace

int num_threads() { return allowed.load(std::memory_order_relaxed); }

void set_num_threads(int count) { allowed.store(count < 1 ? 1 : count, std::memory_order_relaxed); }

void detail::run_parts(int64_t count, int64_t grain, void* context, Part part) {
    if (busy.test_and_set(std::memory_order_acquire)) {
        part(context, 0, count);
        return;
    }
    the_pool().run(count, grain, num_threads(), context, part);
    busy.clear(std::memory_order_release);
}

}  // namespace mt
