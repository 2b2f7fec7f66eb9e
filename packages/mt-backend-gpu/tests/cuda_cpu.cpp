// Runs a CUDA block on the CPU: a fiber for each thread, barriers that must be met by all, and shadow memory.
//
// Kernels compiled with -fsanitize=thread call __tsan_read4 and so on, which are defined here: two accesses of a byte by
// different threads, one of them a write, with no barrier between them, are a race. Tests only.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unordered_map>
#include <vector>

struct mt_dim3 { unsigned x, y, z; };
mt_dim3 threadIdx, blockIdx, blockDim, gridDim;
static char dynamic_shared[232448] __attribute__((aligned(128)));
char* mt_dynamic_shared = dynamic_shared;

namespace {
constexpr size_t STACK = 131072;
constexpr unsigned MOST = 1024;
enum State { READY, AT_BLOCK, AT_WARP, DONE };
enum Fault { NONE, DIVERGED = 1, DEADLOCK = 2, RACE = 4 };
struct Fiber { jmp_buf at; ucontext_t context; State state; int line; unsigned block_epoch, warp_epoch; bool begun; };
Fiber fiber[MOST];
char* stacks;
ucontext_t home_context;
jmp_buf home;
unsigned current, threads;
void (*body)(void*);
void* argument;
int faults;
char message[400];
uint64_t slot[2][MOST];

struct Access { unsigned block, thread, block_epoch, warp_epoch; bool any; };
struct Shadow { Access write, read, other_read; };
std::unordered_map<uintptr_t, Shadow> shadow;
bool inside;

void fault(int kind, const char* what, long a, long b) {
    if (!(faults & kind)) snprintf(message + strlen(message), sizeof message - strlen(message), "%s (%ld, %ld); ", what, a, b);
    faults |= kind;
}
void place(unsigned i) { threadIdx = {i % blockDim.x, i / blockDim.x, 0}; }
void leave() { inside = false; if (!_setjmp(fiber[current].at)) _longjmp(home, 1); inside = true; }
void wait(State state, int line) {
    fiber[current].state = state;
    fiber[current].line = line;
    leave();
}
void entry() {
    for (;;) { body(argument); wait(DONE, 0); }
}
void resume(unsigned i) {
    current = i;
    place(i);
    if (_setjmp(home)) return;
    inside = true;
    if (fiber[i].begun) _longjmp(fiber[i].at, 1);
    fiber[i].begun = true;
    getcontext(&fiber[i].context);
    fiber[i].context.uc_stack.ss_sp = stacks + i * STACK;
    fiber[i].context.uc_stack.ss_size = STACK;
    fiber[i].context.uc_link = nullptr;
    makecontext(&fiber[i].context, entry, 0);
    setcontext(&fiber[i].context);
}
// Lets the threads of one group go on where all of them wait for each other; true where it did.
bool release(unsigned first, unsigned last, State state, const char* what) {
    unsigned waiting = 0, ended = 0;
    int line = 0, other = 0;
    for (unsigned i = first; i < last; i++) {
        if (fiber[i].state == DONE) { ended++; continue; }
        if (fiber[i].state != state) return false;
        if (waiting++ == 0) line = fiber[i].line;
        if (fiber[i].line != line) other = fiber[i].line;
    }
    if (!waiting) return false;
    if (ended) fault(DIVERGED, what, line, -1);
    if (other) fault(DIVERGED, what, line, other);
    for (unsigned i = first; i < last; i++) {
        if (fiber[i].state == DONE) continue;
        fiber[i].state = READY;
        (state == AT_BLOCK ? fiber[i].block_epoch : fiber[i].warp_epoch)++;
    }
    return true;
}
bool run_block() {
    for (unsigned i = 0; i < threads; i++) { fiber[i].state = READY; fiber[i].block_epoch = fiber[i].warp_epoch = 0; }
    memset(dynamic_shared, 0xcb, sizeof dynamic_shared);
    for (;;) {
        for (unsigned i = 0; i < threads; i++) if (fiber[i].state == READY) resume(i);
        bool released = false;
        for (unsigned w = 0; w < threads; w += 32)
            released |= release(w, w + 32 < threads ? w + 32 : threads, AT_WARP, "lanes of a warp meet at different places");
        if (released) continue;
        bool ended = true;
        for (unsigned i = 0; i < threads; i++) ended &= fiber[i].state == DONE;
        if (ended) return true;
        if (release(0, threads, AT_BLOCK, "threads of a block meet at different barriers")) continue;
        fault(DEADLOCK, "threads wait for each other", fiber[0].line, fiber[threads - 1].line);
        for (unsigned i = 0; i < threads; i++) fiber[i].begun = false;
        return false;
    }
}

bool unordered(const Access& a, const Access& now) {
    if (!a.any || (a.block == now.block && a.thread == now.thread)) return false;
    if (a.block != now.block) return true;
    if (a.block_epoch != now.block_epoch) return false;
    return a.thread / 32 != now.thread / 32 || a.warp_epoch == now.warp_epoch;
}
unsigned linear_block() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
void touch(uintptr_t address, bool writes) {
    Access now{linear_block(), current, fiber[current].block_epoch, fiber[current].warp_epoch, true};
    Shadow& s = shadow[address];
    if (unordered(s.write, now)) fault(RACE, writes ? "two threads write" : "a thread reads what another writes", s.write.thread, now.thread);
    if (writes) {
        if (unordered(s.read, now) || unordered(s.other_read, now)) fault(RACE, "a thread writes what another reads", s.read.thread, now.thread);
        s.write = now;
    } else if (!s.read.any || s.read.thread == now.thread) s.read = now;
    else s.other_read = now;
}
}  // namespace

// Memory of a block is another one in every block: its shadow is forgotten when the next block starts.
static std::vector<std::pair<uintptr_t, uintptr_t>> global_ranges;
static bool is_global(uintptr_t a) {
    for (auto& r : global_ranges) if (a >= r.first && a < r.second) return true;
    return false;
}
static void forget_shared() {
    for (auto it = shadow.begin(); it != shadow.end();)
        if (is_global(it->first)) ++it; else it = shadow.erase(it);
}

extern "C" {
void mt_global_range(uintptr_t begin, uintptr_t length) { global_ranges.push_back({begin, begin + length}); }
void mt_forget_ranges() { global_ranges.clear(); }
const char* mt_message() { return message; }
void mt_block_barrier(int line) { wait(AT_BLOCK, line); }
void mt_warp_barrier(int line) { wait(AT_WARP, line); }
uint64_t mt_exchange(uint64_t value, unsigned lane, int line) {
    unsigned me = current, parity = fiber[me].warp_epoch & 1;
    slot[parity][me] = value;
    wait(AT_WARP, line);
    return slot[parity][(me & ~31u) | lane];
}
static float element(uint32_t pair, int high, int bfloat) {
    uint16_t bits = high ? pair >> 16 : pair & 0xffff;
    if (bfloat) { uint32_t u = (uint32_t)bits << 16; float f; memcpy(&f, &u, 4); return f; }
    _Float16 h; memcpy(&h, &bits, 2); return (float)h;
}
// mma.sync.m16n8k16 (PTX ISA, "Matrix fragments for mma.m16n8k16"): every lane computes its four sums.
void mt_mma(float* c, const uint32_t* a, const uint32_t* b, int bfloat, int line) {
    uint32_t all_a[32][4], all_b[32][2];
    unsigned lane = current & 31;
    for (int half = 0; half < 3; half++) {
        uint64_t mine = half < 2 ? (uint64_t)a[2 * half + 1] << 32 | a[2 * half] : (uint64_t)b[1] << 32 | b[0];
        unsigned me = current, parity = fiber[me].warp_epoch & 1;
        slot[parity][me] = mine;
        wait(AT_WARP, line);
        for (int l = 0; l < 32; l++) {
            uint64_t x = slot[parity][(me & ~31u) | l];
            uint32_t* to = half < 2 ? &all_a[l][2 * half] : all_b[l];
            to[0] = (uint32_t)x;
            to[1] = (uint32_t)(x >> 32);
        }
    }
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; k++) {
            int la = row % 8 * 4 + k % 8 / 2, ra = row / 8 + 2 * (k / 8);
            int lb = column * 4 + k % 8 / 2, rb = k / 8;
            sum += element(all_a[la][ra], k % 2, bfloat) * element(all_b[lb][rb], k % 2, bfloat);
        }
        c[i] += sum;
    }
}
int mt_run(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned shared, void (*f)(void*), void* a) {
    if (!stacks) stacks = (char*)malloc(STACK * MOST);
    threads = bx * by;
    if (threads > MOST || shared > sizeof dynamic_shared) return 101;
    gridDim = {gx, gy, gz};
    blockDim = {bx, by, 1};
    body = f;
    argument = a;
    faults = NONE;
    message[0] = 0;
    shadow.clear();
    for (unsigned z = 0; z < gz; z++)
        for (unsigned y = 0; y < gy; y++)
            for (unsigned x = 0; x < gx; x++) {
                blockIdx = {x, y, z};
                forget_shared();
                if (!run_block()) return faults;
            }
    return faults;
}

static void range(void* p, size_t n, bool writes) {
    if (!inside) return;
    char* c = (char*)p;
    if (c >= stacks && c < stacks + STACK * MOST) return;
    for (size_t i = 0; i < n; i++) touch((uintptr_t)c + i, writes);
}
#define ACCESS(N) \
    void __tsan_read##N(void* p) { range(p, N, false); } \
    void __tsan_write##N(void* p) { range(p, N, true); } \
    void __tsan_unaligned_read##N(void* p) { range(p, N, false); } \
    void __tsan_unaligned_write##N(void* p) { range(p, N, true); } \
    void __tsan_volatile_read##N(void*) {} \
    void __tsan_volatile_write##N(void*) {}
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
void __tsan_read_range(void* p, size_t n) { range(p, n, false); }
void __tsan_write_range(void* p, size_t n) { range(p, n, true); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
// Copies of structs become memcpy, which the compiler lets the sanitizer's own replacement see.
void* __tsan_memcpy(void* to, const void* from, size_t n) { range((void*)from, n, false); range(to, n, true); return memcpy(to, from, n); }
void* __tsan_memset(void* to, int c, size_t n) { range(to, n, true); return memset(to, c, n); }
void* __tsan_memmove(void* to, const void* from, size_t n) { range((void*)from, n, false); range(to, n, true); return memmove(to, from, n); }
}
