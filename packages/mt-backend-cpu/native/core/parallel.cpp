#include "core/parallel.hpp"

#include <atomic>
#include <chrono>
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

// How long threads look for the next piece of work before they sleep: waking one takes longer than most operators do, and
// programs call them one after another. As short as a few calls, for others want the processors too.
constexpr auto LOOKING = std::chrono::microseconds(60);

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Whether `found()` came true while it was looked for.
template <class Found>
bool look_for(const Found& found) {
    const auto end = std::chrono::steady_clock::now() + LOOKING;
    do {
        for (int i = 0; i < 32; ++i) {
            if (found()) return true;
            pause();
        }
    } while (std::chrono::steady_clock::now() < end);
    return found();
}

class Pool {
public:
    void run(int64_t count, int64_t grain, int threads, void* context, detail::Part part) {
        const int64_t steps = (count + grain - 1) / grain;
        // More shares than threads: whoever is held up by another process takes fewer of them.
        const int64_t shares = steps < 4 * threads ? steps : 4 * threads;
        const int64_t share = (steps + shares - 1) / shares * grain;
        grow((steps < threads ? static_cast<int>(steps) : threads) - 1);
        bool asleep;
        {
            std::lock_guard<std::mutex> hold(mutex_);
            count_ = count;
            share_ = share;
            context_ = context;
            part_ = part;
            next_ = 0;
            unfinished_.store((count + share - 1) / share, std::memory_order_relaxed);
            generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
            asleep = sleeping_ > 0;
        }
        if (asleep) wake_.notify_all();
        work();
        const auto finished = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
        const bool done = look_for(finished);
        std::unique_lock<std::mutex> hold(mutex_);
        if (!done) done_.wait(hold, finished);
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
            const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
            look_for(called);
            {
                std::unique_lock<std::mutex> hold(mutex_);
                ++sleeping_;
                wake_.wait(hold, called);
                --sleeping_;
                seen = generation_.load(std::memory_order_relaxed);
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
            if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    // Both are written under the mutex, and read by those who look without it.
    std::atomic<uint64_t> generation_{0};
    std::atomic<int64_t> unfinished_{0};
    int sleeping_ = 0;
    int64_t count_ = 0, share_ = 0, next_ = 0;
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
