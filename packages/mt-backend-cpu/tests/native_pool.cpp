// The pool of threads by itself, for the thread sanitizer: two callers at once, calls within calls, a change of the
// number of threads while it works, and a forked process. `python -m tools.sanitize pool` builds and runs it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/parallel.hpp"

namespace {

// Whether each element is counted once, by parts that begin at multiples of the grain; each part calls another kernel.
bool divided_once(int64_t count, int64_t grain) {
    std::vector<int> seen(static_cast<size_t>(count), 0);
    mt::parallel(count, grain, [&](int64_t begin, int64_t end) {
        if (begin % grain != 0) return;
        mt::parallel(end - begin, 1, [&](int64_t from, int64_t to) {
            for (int64_t i = begin + from; i < begin + to; ++i) ++seen[static_cast<size_t>(i)];
        });
    });
    for (int times : seen)
        if (times != 1) return false;
    return true;
}

bool many_times() {
    for (int64_t i = 1; i < 200; ++i)
        if (!divided_once(i * 7, 1 + i % 5)) return false;
    return true;
}

}  // namespace

int main() {
    mt::set_num_threads(4);
    bool first = false, second = false;
    std::thread one([&] { first = many_times(); }), other([&] { second = many_times(); });
    for (int i = 1; i < 50; ++i) mt::set_num_threads(1 + i % 6);
    one.join();
    other.join();
    mt::set_num_threads(4);
    const pid_t child = fork();
    if (child == 0) _exit(many_times() ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    const bool forked = WIFEXITED(status) && WEXITSTATUS(status) == 0, after = many_times();
    std::printf("callers %d %d, child %d, after %d\n", first, second, forked, after);
    return first && second && forked && after ? 0 : 1;
}
