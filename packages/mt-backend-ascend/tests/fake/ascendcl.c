// A libascendcl.so that keeps streams, events and memory honest, for tests without a device.
//
// Streams are queues that do nothing until somebody waits. Device memory can be touched by tasks alone: to everything
// else it is unmapped. Each task says what it reads and writes, and vector clocks tell whether it is ordered with what
// other streams do to the same memory: if not, that is a violation, as are memory that is freed in use or used after
// it was freed, handles of what is not alive, copies that are not waited for with pageable memory of the host, and
// calls of a thread without a device. While a graph is recorded nothing may be waited for or asked after, and what it
// uses has to live as long. What is left in the end is reported by the kind of object. Behaviour is that of
// the runtime API reference of CANN 9.1; the numbers are those of its headers.
#define _GNU_SOURCE
#include "fake_cann.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEVICES = 4, STREAMS = 512, EVENTS = 1 << 16, PAGE = 4096 };
enum {
    INVALID_PARAM = 100000, UNINITIALIZE = 100001, REPEATED = 100002, RT_PARAM = 107000, RT_DEVICE = 107001,
    RT_CONTEXT = 107002, RT_TIMESTAMP = 107006, RT_HANDLE = 107017, RT_MEMORY = 207001, RT_AICORE = 507015,
    RT_DEPENDENCY = 107024, RT_CAPTURED = 107027, RT_EVENT_CAPTURED = 107028, RT_NOT_CAPTURED = 107029,
    RT_MODE = 107030, RT_RUNNING = 107037, RT_THREAD = 107038, RT_INVALIDATED = 507903
};

typedef struct task {
    struct task *next;
    fake_body body;
    int wait_stream, record_event;
    uint64_t position; // of the stream that is waited for, or of the event's generation
    int count;
    fake_range *ranges;
    char *data;
    size_t size;
} task;

typedef struct {
    int alive, device, failed;
    uint64_t handle, given, done, ticks;
    uint64_t clock[STREAMS]; // what is done before its next task, of each stream
    task *first, *last;
    int model;             // that records it, from 1; 0 for none
    uint64_t recorded;     // tasks and waits of it in the model
    int apart;             // whether some of them are not waited for by another stream of the model
} stream;

typedef struct {
    int alive, device, flags, recorded, stream, pending_waits;
    uint64_t handle, position, generation, ticks;
    uint64_t clock[STREAMS];
    int model; // into which it was recorded last, from 1
} event;

typedef struct {
    int alive, active, invalid, origin, mode, runs;
    pthread_t thread;
    task *first, *last;
    struct { int stream; uint64_t position; } given[64];
} model;

typedef struct {
    uint64_t address, size, mapped;
    int device, alive;
} block;

typedef struct {
    uint64_t start, end, position;
    int stream, writes;
} use;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread int current = -1;
static __thread char message[512];
static int initialized, users, visible = -1;
static uint64_t memory_total = 256u << 20, memory_used[DEVICES];
static stream streams[STREAMS];
static int stream_count;
static event *events;
static int event_count;
static block *blocks, *hosts;
static int block_count, host_count, blocks_room, hosts_room;
static use *uses;
static model models[64];
static int model_count;
static int use_count, uses_room;
static uint64_t host_clock[STREAMS];
static char *violations;
static size_t violations_size;
static int tasks_done;
static struct { char kind[32]; long alive; } counts[32];
static struct { char function[64]; int code; } failures[16];
static pthread_t main_thread;

void fake_violation(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (size > (int)sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    pthread_mutex_lock(&lock);
    violations = realloc(violations, violations_size + size + 1);
    memcpy(violations + violations_size, line, size);
    violations_size += size;
    violations[violations_size] = 0;
    pthread_mutex_unlock(&lock);
}

// What was noted since the last call.
const char *fake_violations(void)
{
    static char *kept;
    free(kept);
    kept = violations;
    violations = NULL;
    violations_size = 0;
    return kept ? kept : "";
}

int fake_tasks_done(void) { return tasks_done; }

void fake_count(const char *kind, int amount)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 32; i++) {
        if (!counts[i].kind[0]) strncpy(counts[i].kind, kind, 31);
        if (!strcmp(counts[i].kind, kind)) {
            counts[i].alive += amount;
            if (counts[i].alive < 0) fake_violation("a %s was destroyed twice", kind);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

long fake_alive(const char *kind)
{
    for (int i = 0; i < 32; i++)
        if (!strcmp(counts[i].kind, kind)) return counts[i].alive;
    return 0;
}

// The next call of a function fails with a code.
void fake_fail(const char *function, int code)
{
    for (int i = 0; i < 16; i++)
        if (!failures[i].code) {
            strncpy(failures[i].function, function, 63);
            failures[i].code = code;
            return;
        }
}

int fake_failure(const char *function)
{
    for (int i = 0; i < 16; i++)
        if (failures[i].code && !strcmp(failures[i].function, function)) {
            int code = failures[i].code;
            failures[i].code = 0;
            snprintf(message, sizeof message, "EE9999: %s was told to fail", function);
            return code;
        }
    return 0;
}

static int said(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return code;
}

#define BEGIN(name)                                                                                                   \
    if (!initialized) return said(UNINITIALIZE, name " before aclInit");                                             \
    {                                                                                                                 \
        int told = fake_failure(name);                                                                                \
        if (told) return told;                                                                                        \
    }
#define DEVICE(name)                                                                                                  \
    BEGIN(name)                                                                                                       \
    if (current < 0) {                                                                                                \
        fake_violation(name " of a thread that has set no device");                                                   \
        return said(RT_CONTEXT, name ": the current context is null");                                                \
    }
#define LOCKED(statement)                                                                                             \
    do {                                                                                                              \
        pthread_mutex_lock(&lock);                                                                                    \
        int result_ = (statement);                                                                                    \
        pthread_mutex_unlock(&lock);                                                                                  \
        return result_;                                                                                               \
    } while (0)

const char *aclGetRecentErrMsg(void)
{
    static __thread char given[512];
    strcpy(given, message);
    message[0] = 0;
    return given[0] ? given : NULL;
}

int aclInit(const char *config)
{
    (void)config;
    if (initialized) return REPEATED;
    initialized = 1;
    main_thread = pthread_self();
    if (getenv("FAKE_CANN_MEMORY")) memory_total = strtoull(getenv("FAKE_CANN_MEMORY"), NULL, 10);
    events = calloc(EVENTS, sizeof *events);
    return 0;
}

static void report_line(FILE *file, const char *kind, long number)
{
    if (number) fprintf(file, "leak: %ld %s\n", number, kind);
}

int aclFinalize(void)
{
    BEGIN("aclFinalize");
    initialized = 0;
    const char *place = getenv("FAKE_CANN_REPORT");
    FILE *file = place ? fopen(place, "w") : NULL;
    if (!file) return 0;
    long alive[4] = {0, 0, 0, 0}, unfinished = 0;
    for (int i = 0; i < block_count; i++) alive[0] += blocks[i].alive;
    for (int i = 0; i < host_count; i++) alive[1] += hosts[i].alive;
    for (int i = 0; i < stream_count; i++) alive[2] += streams[i].alive, unfinished += streams[i].given - streams[i].done;
    for (int i = 0; i < event_count; i++) alive[3] += events[i].alive;
    report_line(file, "device memory", alive[0]);
    report_line(file, "host memory", alive[1]);
    report_line(file, "stream", alive[2]);
    report_line(file, "event", alive[3]);
    long graphs = 0;
    for (int i = 0; i < model_count; i++) graphs += models[i].alive;
    report_line(file, "graph", graphs);
    report_line(file, "unfinished task", unfinished);
    for (int i = 0; i < 32; i++) report_line(file, counts[i].kind, counts[i].alive);
    fputs(fake_violations(), file);
    fputs("finalized\n", file);
    fclose(file);
    return 0;
}

// Devices

static int visible_ids[DEVICES];

// ASCEND_RT_VISIBLE_DEVICES: ids in ascending order, read up to the first that is none.
static int see(void)
{
    if (visible >= 0) return visible;
    const char *text = getenv("ASCEND_RT_VISIBLE_DEVICES");
    visible = 0;
    if (!text) {
        for (; visible < DEVICES; visible++) visible_ids[visible] = visible;
        return visible;
    }
    while (visible < DEVICES) {
        char *end;
        if (*text < '0' || *text > '9') break;
        long id = strtol(text, &end, 10);
        if (id >= DEVICES || (visible && id <= visible_ids[visible - 1])) break;
        visible_ids[visible++] = id;
        if (*end != ',') break;
        text = end + 1;
    }
    return visible;
}

int aclrtGetDeviceCount(uint32_t *count)
{
    BEGIN("aclrtGetDeviceCount");
    *count = see();
    return 0;
}

int aclrtSetDevice(int32_t id)
{
    BEGIN("aclrtSetDevice");
    if (id < 0 || id >= see()) return said(RT_DEVICE, "device %d is not there", id);
    current = id;
    return 0;
}

int aclrtGetDevice(int32_t *id)
{
    DEVICE("aclrtGetDevice");
    *id = current;
    return 0;
}

int aclrtResetDevice(int32_t id)
{
    DEVICE("aclrtResetDevice");
    users += id >= 0;
    return 0;
}

const char *aclrtGetSocName(void) { return "Ascend910B3"; }

int aclrtGetDeviceInfo(uint32_t id, int32_t attribute, int64_t *value)
{
    BEGIN("aclrtGetDeviceInfo");
    if ((int)id >= see()) return said(RT_DEVICE, "device %u is not there", id);
    *value = attribute == 102 ? 20 : attribute == 201 ? 40 : attribute == 302 ? (int64_t)192 << 20 : -1;
    return *value < 0 ? said(RT_PARAM, "attribute %d", attribute) : 0;
}

int aclrtDeviceCanAccessPeer(int32_t *can, int32_t id, int32_t peer)
{
    BEGIN("aclrtDeviceCanAccessPeer");
    *can = id != peer;
    return 0;
}

static int peers[DEVICES][DEVICES];

int aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags)
{
    DEVICE("aclrtDeviceEnablePeerAccess");
    if (flags) return said(RT_PARAM, "flags are 0");
    peers[current][peer] = 1;
    return 0;
}

// Memory

static void *grown(void *array, int count, int *room, size_t size)
{
    if (count < *room) return array;
    *room = *room ? 2 * *room : 64;
    return realloc(array, *room * size);
}

int aclrtMalloc(void **address, size_t size, int32_t policy)
{
    DEVICE("aclrtMalloc");
    if (!size) return said(RT_PARAM, "a size of 0");
    if (policy < 0 || policy > 7) return said(RT_PARAM, "policy %d", policy);
    pthread_mutex_lock(&lock);
    if (memory_used[current] + size > memory_total) {
        pthread_mutex_unlock(&lock);
        return said(RT_MEMORY, "EL0004: device memory is exhausted");
    }
    uint64_t mapped = (size + PAGE - 1) / PAGE * PAGE;
    void *made = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_used[current] += size;
    blocks = grown(blocks, block_count, &blocks_room, sizeof *blocks);
    blocks[block_count++] = (block){(uint64_t)made, size, mapped, current, 1};
    pthread_mutex_unlock(&lock);
    *address = made;
    return 0;
}

int aclrtMallocAlign32(void **address, size_t size, int32_t policy) { return aclrtMalloc(address, size, policy); }

static block *block_of(uint64_t address, uint64_t size)
{
    for (int i = 0; i < block_count; i++)
        if (address >= blocks[i].address && address + size <= blocks[i].address + blocks[i].size) return blocks + i;
    return NULL;
}

// The device that memory lies on; -1 for what is no device's.
int fake_device_of(uint64_t address)
{
    block *found = block_of(address, 1);
    return found ? found->device : -1;
}

static void forget_done_uses(void)
{
    int kept = 0;
    for (int i = 0; i < use_count; i++)
        if (uses[i].position > host_clock[uses[i].stream]) uses[kept++] = uses[i];
    use_count = kept;
}

static void refuse_if_recorded(const block *found, const char *what)
{
    for (int i = 0; i < model_count; i++)
        for (task *t = models[i].alive ? models[i].first : NULL; t; t = t->next)
            for (int j = 0; j < t->count; j++)
                if (t->ranges[j].address < found->address + found->size &&
                    t->ranges[j].address + t->ranges[j].size > found->address) {
                    fake_violation("%s of memory that a graph uses", what);
                    return;
                }
}

// Whether something is recorded: then nobody may wait or ask, and whoever does spoils it.
static int recording(const char *what)
{
    int found = 0;
    for (int i = 0; i < model_count; i++)
        if (models[i].active) found = models[i].invalid = 1;
    return found ? said(RT_CAPTURED, "%s while a stream is captured", what) : 0;
}

#define UNRECORDED(name)                                                                                              \
    {                                                                                                                 \
        int told = recording(name);                                                                                   \
        if (told) return told;                                                                                        \
    }

int aclrtFree(void *address)
{
    DEVICE("aclrtFree");
    pthread_mutex_lock(&lock);
    block *found = block_of((uint64_t)address, 0);
    if (!found || found->address != (uint64_t)address || !found->alive) {
        fake_violation("aclrtFree of %p, which is not allocated", address);
        pthread_mutex_unlock(&lock);
        return said(RT_PARAM, "%p is not allocated", address);
    }
    forget_done_uses();
    for (int i = 0; i < use_count; i++)
        if (uses[i].start < found->address + found->size && uses[i].end > found->address) {
            fake_violation("aclrtFree of memory that stream %d may still use", uses[i].stream);
            break;
        }
    refuse_if_recorded(found, "aclrtFree");
    found->alive = 0; // its addresses are never handed out again
    memory_used[found->device] -= found->size;
    mprotect((void *)found->address, found->mapped, PROT_NONE);
    pthread_mutex_unlock(&lock);
    return 0;
}

int aclrtMallocHost(void **address, size_t size)
{
    DEVICE("aclrtMallocHost");
    pthread_mutex_lock(&lock);
    hosts = grown(hosts, host_count, &hosts_room, sizeof *hosts);
    *address = aligned_alloc(64, (size + 63) / 64 * 64);
    hosts[host_count++] = (block){(uint64_t)*address, size, 0, current, 1};
    pthread_mutex_unlock(&lock);
    return 0;
}

static block *host_of(uint64_t address, uint64_t size)
{
    for (int i = host_count - 1; i >= 0; i--)
        if (hosts[i].alive && address >= hosts[i].address && address + size <= hosts[i].address + hosts[i].size)
            return hosts + i;
    return NULL;
}

int aclrtFreeHost(void *address)
{
    BEGIN("aclrtFreeHost");
    pthread_mutex_lock(&lock);
    block *found = host_of((uint64_t)address, 0);
    forget_done_uses();
    if (!found || found->address != (uint64_t)address)
        fake_violation("aclrtFreeHost of %p, which is not allocated", address);
    else {
        refuse_if_recorded(found, "aclrtFreeHost");
        found->alive = 0;
        for (int i = 0; i < use_count; i++)
            if (uses[i].start < found->address + found->size && uses[i].end > found->address) {
                fake_violation("aclrtFreeHost of memory that stream %d may still use", uses[i].stream);
                break;
            }
        free(address);
    }
    pthread_mutex_unlock(&lock);
    return found ? 0 : said(RT_PARAM, "%p is not allocated", address);
}

int aclrtGetMemInfo(int32_t attribute, size_t *free_, size_t *total)
{
    DEVICE("aclrtGetMemInfo");
    if (attribute != 1) return said(RT_PARAM, "memory of kind %d", attribute);
    *total = memory_total;
    *free_ = memory_total - memory_used[current];
    return 0;
}

static void open_memory(int access)
{
    for (int i = 0; i < block_count; i++)
        if (blocks[i].alive) mprotect((void *)blocks[i].address, blocks[i].mapped, access);
}

// Streams

static stream *stream_of(uint64_t handle, const char *what)
{
    for (int i = 0; i < stream_count; i++)
        if (streams[i].handle == handle) {
            if (!streams[i].alive) fake_violation("%s of stream %d, which was destroyed", what, i);
            return streams[i].alive ? streams + i : NULL;
        }
    fake_violation("%s of %#lx, which is no stream", what, handle);
    return NULL;
}

static void joined(uint64_t *clock, const uint64_t *other)
{
    for (int i = 0; i < stream_count; i++)
        if (other[i] > clock[i]) clock[i] = other[i];
}

static int check_ranges(stream *s, const fake_range *ranges, int count, int during)
{
    for (int i = 0; i < count; i++) {
        block *found = ranges[i].size ? block_of(ranges[i].address, ranges[i].size) : NULL;
        if (found && found->device != s->device && !peers[s->device][found->device]) {
            fake_violation("a task of device %d uses memory of device %d, which it has not made its peer", s->device,
                           found->device);
            return RT_PARAM;
        }
    }
    for (int i = 0; i < count; i++) {
        uint64_t address = ranges[i].address, size = ranges[i].size;
        if (!size) continue;
        block *found = block_of(address, size);
        if (found ? !found->alive : !host_of(address, size)) {
            fake_violation("%s: [%#lx, +%lu) is %s", during ? "a task" : "a call", address, size,
                           found ? "freed memory" : "no memory of the device, and not pinned");
            return RT_PARAM;
        }
        if (found && found->device != s->device && !peers[s->device][found->device]) {
            fake_violation("device %d uses memory of device %d without access", s->device, found->device);
            return RT_PARAM;
        }
    }
    return 0;
}

static void note_uses(int at, const fake_range *ranges, int count, const uint64_t *clock, uint64_t position)
{
    for (int i = 0; i < count; i++) {
        uint64_t start = ranges[i].address, end = start + ranges[i].size;
        if (start == end) continue;
        for (int j = 0; j < use_count; j++) {
            use *u = uses + j;
            if (u->stream != at && u->start < end && u->end > start && (u->writes || ranges[i].writes) &&
                clock[u->stream] < u->position)
                fake_violation("race: %s %d %s memory that stream %d still %s", at < 0 ? "the host, as stream" : "stream",
                               at, ranges[i].writes ? "writes" : "reads", u->stream, u->writes ? "writes" : "reads");
        }
        if (at >= 0) {
            uses = grown(uses, use_count, &uses_room, sizeof *uses);
            uses[use_count++] = (use){start, end, position, at, ranges[i].writes};
        }
    }
}

static task *put(stream *s)
{
    task *t = calloc(1, sizeof *t);
    t->wait_stream = t->record_event = -1;
    if (s->last) s->last->next = t;
    else s->first = t;
    s->last = t;
    s->given++;
    joined(s->clock, host_clock);
    s->clock[s - streams] = s->given;
    return t;
}

static task *put_recorded(stream *s)
{
    model *m = models + s->model - 1;
    task *t = calloc(1, sizeof *t);
    t->wait_stream = t->record_event = -1;
    if (m->last) m->last->next = t;
    else m->first = t;
    m->last = t;
    s->recorded++;
    s->apart = s - streams != m->origin;
    return t;
}

int fake_enqueue(uint64_t handle, fake_body body, const void *data, size_t size, const fake_range *ranges, int count)
{
    if (!initialized) return said(UNINITIALIZE, "a launch before aclInit");
    if (current < 0) fake_violation("a launch by a thread that has set no device");
    pthread_mutex_lock(&lock);
    stream *s = stream_of(handle, "a launch");
    int code = s ? check_ranges(s, ranges, count, 0) : RT_HANDLE;
    if (!code && s->device != current) {
        fake_violation("a launch on device %d by a thread whose device is %d", s->device, current);
        code = RT_CONTEXT;
    }
    if (!code) {
        task *t = s->model ? put_recorded(s) : NULL;
        if (!t) {
            forget_done_uses();
            t = put(s);
            note_uses(s - streams, ranges, count, s->clock, s->given);
        }
        t->body = body;
        t->size = size;
        t->data = memcpy(malloc(size + 1), data, size);
        t->count = count;
        t->ranges = memcpy(malloc(count * sizeof *ranges + 1), ranges, count * sizeof *ranges);
    }
    pthread_mutex_unlock(&lock);
    return code ? said(code, "the launch is refused") : 0;
}

static void run(stream *s, uint64_t until)
{
    while (s->done < until) {
        task *t = s->first;
        s->first = t->next;
        if (!s->first) s->last = NULL;
        s->ticks++;
        if (t->wait_stream >= 0) {
            stream *other = streams + t->wait_stream;
            run(other, t->position);
            if (other->ticks > s->ticks) s->ticks = other->ticks;
            events[t->record_event].pending_waits--;
        } else if (t->record_event >= 0) {
            if (events[t->record_event].generation == t->position) events[t->record_event].ticks = s->ticks;
        } else {
            int code = check_ranges(s, t->ranges, t->count, 1);
            if (!code) {
                open_memory(PROT_READ | PROT_WRITE);
                code = t->body(t->data);
                open_memory(PROT_NONE);
            }
            if (code) s->failed = code;
        }
        tasks_done++;
        s->done++;
        free(t->data);
        free(t->ranges);
        free(t);
    }
}

int aclrtCreateStreamWithConfig(uint64_t *handle, uint32_t priority, uint32_t flags)
{
    DEVICE("aclrtCreateStreamWithConfig");
    if (flags & ~0xfu) return said(RT_PARAM, "flags %#x, priority %u", flags, priority);
    pthread_mutex_lock(&lock);
    stream *s = streams + stream_count;
    s->alive = 1;
    s->device = current;
    s->handle = 0xfedc000100000000u + ((uint64_t)stream_count++ << 33) + 0x1000; // its upper half matters
    pthread_mutex_unlock(&lock);
    *handle = s->handle;
    return 0;
}

int aclrtCreateStream(uint64_t *handle) { return aclrtCreateStreamWithConfig(handle, 0, 0); }

int aclrtDestroyStream(uint64_t handle)
{
    DEVICE("aclrtDestroyStream");
    pthread_mutex_lock(&lock);
    stream *s = stream_of(handle, "aclrtDestroyStream");
    if (s) {
        if (s->done < s->given) fake_violation("aclrtDestroyStream of a stream with work");
        s->alive = 0;
    }
    pthread_mutex_unlock(&lock);
    return s ? 0 : said(RT_HANDLE, "no stream");
}

static int waited(stream *s, uint64_t until)
{
    run(s, until);
    joined(host_clock, s->clock);
    if (host_clock[s - streams] > until) host_clock[s - streams] = until;
    int code = s->failed;
    s->failed = 0;
    return code ? said(code, "EZ9999: a kernel on stream %ld failed", s - streams) : 0;
}

static int synchronized(uint64_t handle)
{
    stream *s = stream_of(handle, "aclrtSynchronizeStream");
    return s ? waited(s, s->given) : said(RT_HANDLE, "no stream");
}

int aclrtSynchronizeStream(uint64_t handle)
{
    DEVICE("aclrtSynchronizeStream");
    UNRECORDED("aclrtSynchronizeStream");
    LOCKED(synchronized(handle));
}

int aclrtSynchronizeDevice(void)
{
    DEVICE("aclrtSynchronizeDevice");
    UNRECORDED("aclrtSynchronizeDevice");
    pthread_mutex_lock(&lock);
    int code = 0;
    for (int i = 0; i < stream_count; i++)
        if (streams[i].alive && streams[i].device == current) {
            int found = waited(streams + i, streams[i].given);
            if (found) code = found;
        }
    pthread_mutex_unlock(&lock);
    return code;
}

static int queried(uint64_t handle, int32_t *status)
{
    stream *s = stream_of(handle, "aclrtStreamQuery");
    if (!s) return said(RT_HANDLE, "no stream");
    *status = s->done == s->given ? 0 : 1;
    return *status ? (run(s, s->done + 1), 0) : waited(s, s->given); // whoever polls gets on
}

int aclrtStreamQuery(uint64_t handle, int32_t *status)
{
    DEVICE("aclrtStreamQuery");
    UNRECORDED("aclrtStreamQuery");
    LOCKED(queried(handle, status));
}

// Events

static event *event_of(uint64_t handle, const char *what)
{
    for (int i = 0; i < event_count; i++)
        if (events[i].handle == handle) {
            if (!events[i].alive) fake_violation("%s of an event that was destroyed", what);
            return events[i].alive ? events + i : NULL;
        }
    fake_violation("%s of %#lx, which is no event", what, handle);
    return NULL;
}

int aclrtCreateEventExWithFlag(uint64_t *handle, uint32_t flags)
{
    DEVICE("aclrtCreateEventExWithFlag");
    if (!flags || flags & ~0xbu) return said(RT_PARAM, "flags %#x", flags);
    pthread_mutex_lock(&lock);
    event *e = events + event_count;
    e->alive = 1;
    e->flags = flags;
    e->device = current;
    e->handle = 0xabcd000200000000u + ((uint64_t)event_count++ << 33) + 0x2000;
    pthread_mutex_unlock(&lock);
    *handle = e->handle;
    return 0;
}

int aclrtDestroyEvent(uint64_t handle)
{
    DEVICE("aclrtDestroyEvent");
    pthread_mutex_lock(&lock);
    event *e = event_of(handle, "aclrtDestroyEvent");
    if (e) {
        if (e->model > 0 && models[e->model - 1].alive) fake_violation("aclrtDestroyEvent of an event of a graph");
        if (e->pending_waits) fake_violation("aclrtDestroyEvent of an event that a stream still waits for");
        if (!e->model && e->recorded && streams[e->stream].done < e->position)
            fake_violation("aclrtDestroyEvent of an event that has not been reached");
        e->alive = 0;
    }
    pthread_mutex_unlock(&lock);
    return e ? 0 : said(RT_HANDLE, "no event");
}

static int recorded(uint64_t handle, uint64_t on)
{
    event *e = event_of(handle, "aclrtRecordEvent");
    stream *s = stream_of(on, "aclrtRecordEvent");
    if (!e || !s) return said(RT_HANDLE, "no event or no stream");
    e->model = s->model;
    if (s->model) { // the model's own order: what follows a wait for it follows it
        e->recorded = 1;
        e->stream = s - streams;
        e->position = s->recorded;
        return 0;
    }
    task *t = put(s);
    t->record_event = e - events;
    t->position = ++e->generation;
    e->recorded = 1;
    e->stream = s - streams;
    e->position = s->given;
    memcpy(e->clock, s->clock, sizeof e->clock);
    return 0;
}

int aclrtRecordEvent(uint64_t handle, uint64_t on)
{
    DEVICE("aclrtRecordEvent");
    LOCKED(recorded(handle, on));
}

static int stream_waits(uint64_t on, uint64_t handle)
{
    event *e = event_of(handle, "aclrtStreamWaitEvent");
    stream *s = stream_of(on, "aclrtStreamWaitEvent");
    if (!e || !s) return said(RT_HANDLE, "no event or no stream");
    if (!(e->flags & 1)) return said(RT_PARAM, "the event was made without ACL_EVENT_SYNC");
    if (!e->recorded) return said(RT_PARAM, "the event was not recorded");
    if (e->model < 0 || (e->model && !models[e->model - 1].active))
        return said(RT_EVENT_CAPTURED, "the event belongs to a graph, whose recording is over");
    if (e->model) { // the stream is recorded, too
        if (s->model && s->model != e->model) return said(107032, "the stream is recorded into another graph");
        s->model = e->model;
        stream *other = streams + e->stream;
        if (other->recorded == e->position) other->apart = 0;
        s->recorded++;
        s->apart = s - streams != models[e->model - 1].origin;
        return 0;
    }
    if (s->model) {
        models[s->model - 1].invalid = 1;
        return said(RT_DEPENDENCY, "a recorded stream waits for an event that is not");
    }
    task *t = put(s);
    t->wait_stream = e->stream;
    t->record_event = e - events;
    t->position = e->position;
    e->pending_waits++;
    joined(s->clock, e->clock);
    return 0;
}

int aclrtStreamWaitEvent(uint64_t on, uint64_t handle)
{
    DEVICE("aclrtStreamWaitEvent");
    LOCKED(stream_waits(on, handle));
}

static int event_waited(event *e)
{
    stream *s = streams + e->stream;
    run(s, e->position);
    joined(host_clock, e->clock);
    int code = s->failed;
    s->failed = 0;
    return code ? said(code, "EZ9999: a kernel before the event failed") : 0;
}

static int event_queried(uint64_t handle, int32_t *status)
{
    event *e = event_of(handle, "aclrtQueryEventStatus");
    if (!e) return said(RT_HANDLE, "no event");
    if (e->model) {
        fake_violation("aclrtQueryEventStatus of an event of a graph");
        return said(RT_EVENT_CAPTURED, "the event was recorded into a graph");
    }
    stream *s = streams + e->stream;
    *status = !e->recorded || s->done >= e->position;
    if (!*status) run(s, s->done + 1);
    else if (e->recorded) joined(host_clock, e->clock);
    return 0;
}

int aclrtQueryEventStatus(uint64_t handle, int32_t *status)
{
    DEVICE("aclrtQueryEventStatus");
    UNRECORDED("aclrtQueryEventStatus");
    LOCKED(event_queried(handle, status));
}

static int event_synchronized(uint64_t handle)
{
    event *e = event_of(handle, "aclrtSynchronizeEvent");
    return !e ? said(RT_HANDLE, "no event") : e->recorded ? event_waited(e) : 0;
}

int aclrtSynchronizeEvent(uint64_t handle)
{
    DEVICE("aclrtSynchronizeEvent");
    UNRECORDED("aclrtSynchronizeEvent");
    LOCKED(event_synchronized(handle));
}

int aclrtEventElapsedTime(float *milliseconds, uint64_t start, uint64_t end)
{
    DEVICE("aclrtEventElapsedTime");
    event *a = event_of(start, "aclrtEventElapsedTime"), *b = event_of(end, "aclrtEventElapsedTime");
    if (!a || !b) return said(RT_HANDLE, "no event");
    if (!(a->flags & b->flags & 8)) return said(RT_TIMESTAMP, "an event was made without ACL_EVENT_TIME_LINE");
    *milliseconds = (float)b->ticks - (float)a->ticks;
    return 0;
}

// Copies

typedef struct {
    void *to;
    const void *of;
    size_t size;
    int value;
} copy_data;

static int copy_body(void *data)
{
    copy_data *c = data;
    if (c->of) memmove(c->to, c->of, c->size);
    else memset(c->to, c->value, c->size);
    return 0;
}

static int kind_fits(uint64_t to, uint64_t of, size_t size, int kind)
{
    int to_device = block_of(to, size) != NULL, of_device = block_of(of, size) != NULL;
    return kind == 1 ? to_device && !of_device : kind == 2 ? !to_device && of_device : kind == 3 && to_device && of_device;
}

static int copied(void *to, size_t room, const void *of, size_t size, int kind)
{
    if (size > room) return said(RT_PARAM, "no room");
    for (int i = 0; i < model_count; i++)
        if (models[i].active && (!models[i].mode || (models[i].mode == 1 && pthread_equal(models[i].thread, pthread_self())))) {
            models[i].invalid = 1;
            return said(RT_MODE, "aclrtMemcpy while a stream is captured");
        }
    if (!kind_fits((uint64_t)to, (uint64_t)of, size, kind)) {
        fake_violation("aclrtMemcpy of kind %d from %p to %p", kind, of, to);
        return said(RT_PARAM, "kind %d", kind);
    }
    fake_range ranges[2] = {{(uint64_t)to, size, 1}, {(uint64_t)of, size, 0}};
    for (int i = 0; i < 2; i++) {
        block *found = block_of(ranges[i].address, size);
        if (found && !found->alive) fake_violation("aclrtMemcpy: freed memory");
    }
    forget_done_uses();
    note_uses(-1, ranges, 2, host_clock, 0);
    open_memory(PROT_READ | PROT_WRITE);
    memmove(to, of, size);
    open_memory(PROT_NONE);
    return 0;
}

int aclrtMemcpy(void *to, size_t room, const void *of, size_t size, int32_t kind)
{
    DEVICE("aclrtMemcpy");
    LOCKED(copied(to, room, of, size, kind));
}

int aclrtMemcpyAsync(void *to, size_t room, const void *of, size_t size, int32_t kind, uint64_t on)
{
    DEVICE("aclrtMemcpyAsync");
    if (size > room) return said(RT_PARAM, "no room");
    if (!kind_fits((uint64_t)to, (uint64_t)of, size, kind)) {
        fake_violation("aclrtMemcpyAsync of kind %d from %p to %p", kind, of, to);
        return said(RT_PARAM, "kind %d", kind);
    }
    fake_range ranges[2] = {{(uint64_t)to, size, 1}, {(uint64_t)of, size, 0}};
    copy_data data = {to, of, size, 0};
    return fake_enqueue(on, copy_body, &data, sizeof data, ranges, 2);
}

int aclrtMemsetAsync(void *to, size_t room, int32_t value, size_t size, uint64_t on)
{
    DEVICE("aclrtMemsetAsync");
    if (size > room) return said(RT_PARAM, "no room");
    fake_range ranges[1] = {{(uint64_t)to, size, 1}};
    copy_data data = {to, NULL, size, value};
    return fake_enqueue(on, copy_body, &data, sizeof data, ranges, 1);
}

// Graphs. What is recorded runs in the order in which it was given; streams of a graph come back to the first.

static model *model_of(void *handle, const char *what)
{
    size_t i = (uint64_t)handle - 0x5eed00000000u;
    if (i < (size_t)model_count && models[i].alive) return models + i;
    fake_violation("%s of %p, which is no graph", what, handle);
    return NULL;
}

static int begun(uint64_t handle, int32_t mode)
{
    stream *s = stream_of(handle, "aclmdlRICaptureBegin");
    if (!s) return said(RT_HANDLE, "no stream");
    if (mode < 0 || mode > 2) return said(RT_PARAM, "mode %d", mode);
    if (s->model) return said(RT_CAPTURED, "the stream is captured");
    model *m = models + model_count++;
    *m = (model){.alive = 1, .active = 1, .origin = s - streams, .mode = mode, .thread = pthread_self()};
    s->model = model_count;
    s->recorded = s->apart = 0;
    return 0;
}

int aclmdlRICaptureBegin(uint64_t handle, int32_t mode)
{
    DEVICE("aclmdlRICaptureBegin");
    LOCKED(begun(handle, mode));
}

int aclmdlRICaptureGetInfo(uint64_t handle, int32_t *status, void **found)
{
    DEVICE("aclmdlRICaptureGetInfo");
    stream *s = stream_of(handle, "aclmdlRICaptureGetInfo");
    if (!s) return said(RT_HANDLE, "no stream");
    *status = !s->model ? 0 : models[s->model - 1].invalid ? 2 : 1;
    *found = s->model ? (void *)(0x5eed00000000u + s->model - 1) : NULL;
    return 0;
}

static void forgotten(model *m)
{
    m->alive = 0;
    for (task *t = m->first, *next; t; t = next) {
        next = t->next;
        free(t->data);
        free(t->ranges);
        free(t);
    }
    for (int i = 0; i < event_count; i++)
        if (events[i].model == m - models + 1) events[i].model = -1; // it never happens
}

static int captured(uint64_t handle, void **made)
{
    stream *s = stream_of(handle, "aclmdlRICaptureEnd");
    if (!s || !s->model) return said(RT_NOT_CAPTURED, "the stream is not captured");
    model *m = models + s->model - 1;
    if (s - streams != m->origin) return said(RT_NOT_CAPTURED, "another stream began it");
    if (m->mode != 2 && !pthread_equal(m->thread, pthread_self())) return said(RT_THREAD, "another thread began it");
    int apart = 0;
    for (int i = 0; i < stream_count; i++)
        if (streams[i].model == m - models + 1) {
            apart += streams[i].apart;
            streams[i].model = streams[i].recorded = streams[i].apart = 0;
        }
    m->active = 0;
    if (m->invalid || apart) {
        forgotten(m);
        return said(RT_INVALIDATED, apart ? "a stream did not come back to the first" : "the capture was invalidated");
    }
    *made = (void *)(0x5eed00000000u + (m - models));
    return 0;
}

int aclmdlRICaptureEnd(uint64_t handle, void **made)
{
    DEVICE("aclmdlRICaptureEnd");
    LOCKED(captured(handle, made));
}

static int executed(void *handle, uint64_t on)
{
    model *m = model_of(handle, "aclmdlRIExecuteAsync");
    stream *s = stream_of(on, "aclmdlRIExecuteAsync");
    if (!m || !s || m->active || s->model) return said(RT_PARAM, "no graph, or a stream that is captured");
    for (task *t = m->first; t; t = t->next) {
        int code = fake_enqueue(on, t->body, t->data, t->size, t->ranges, t->count);
        if (code) return code;
    }
    m->given[m->runs % 64].stream = s - streams;
    m->given[m->runs++ % 64].position = s->given;
    return 0;
}

int aclmdlRIExecuteAsync(void *handle, uint64_t on)
{
    DEVICE("aclmdlRIExecuteAsync");
    LOCKED(executed(handle, on));
}

static int destroyed(void *handle)
{
    model *m = model_of(handle, "aclmdlRIDestroy");
    if (!m) return said(RT_PARAM, "no graph");
    for (int i = 0; i < m->runs && i < 64; i++)
        if (streams[m->given[i].stream].done < m->given[i].position) {
            fake_violation("aclmdlRIDestroy of a graph that runs");
            return said(RT_RUNNING, "the graph runs");
        }
    forgotten(m);
    return 0;
}

int aclmdlRIDestroy(void *handle)
{
    DEVICE("aclmdlRIDestroy");
    LOCKED(destroyed(handle));
}

// Binaries: a text file of kernel names, whose functions are found among what the process has loaded.
// fake_binary_<kernel>(blocks, stream, arguments, size).

#include <dlfcn.h>

typedef int (*binary_function)(uint32_t, uint64_t, const void *, size_t);

int aclrtBinaryLoadFromFile(const char *path, void *options, void **binary)
{
    DEVICE("aclrtBinaryLoadFromFile");
    if (options || path[0] != '/') return said(RT_PARAM, "an absolute path, no options");
    FILE *file = fopen(path, "r");
    if (!file) return said(RT_PARAM, "no file %s", path);
    char *text = calloc(1, 4096);
    size_t got = fread(text, 1, 4095, file);
    fclose(file);
    *binary = text;
    return got ? 0 : said(RT_PARAM, "an empty file");
}

int aclrtBinaryGetFunction(void *binary, const char *name, void **function)
{
    DEVICE("aclrtBinaryGetFunction");
    char symbol[128];
    snprintf(symbol, sizeof symbol, "fake_binary_%s", name);
    *function = strstr(binary, name) ? dlsym(RTLD_DEFAULT, symbol) : NULL;
    return *function ? 0 : said(107042, "no kernel %s", name);
}

#ifndef WITHOUT_HOST_ARGS
int aclrtLaunchKernelWithHostArgs(void *function, uint32_t blocks, uint64_t on, void *config, void *arguments,
                                  size_t size, void *holders, size_t holder_count)
{
    DEVICE("aclrtLaunchKernelWithHostArgs");
    if (config || holders || holder_count) return said(RT_PARAM, "no configuration, no placeholders");
    return ((binary_function)function)(blocks, on, arguments, size);
}
#endif

typedef struct {
    size_t size;
    int finished;
    char data[4096];
} argument_list;

int aclrtKernelArgsInit(void *function, void **list)
{
    DEVICE("aclrtKernelArgsInit");
    (void)function;
    *list = calloc(1, sizeof(argument_list));
    return 0;
}

int aclrtKernelArgsAppend(void *list, void *argument, size_t size, void **place)
{
    DEVICE("aclrtKernelArgsAppend");
    argument_list *l = list;
    size_t alignment = size >= 8 ? 8 : 4;
    l->size = (l->size + alignment - 1) / alignment * alignment;
    memcpy(l->data + l->size, argument, size);
    *place = l->data + l->size;
    l->size += size;
    return 0;
}

int aclrtKernelArgsFinalize(void *list)
{
    DEVICE("aclrtKernelArgsFinalize");
    ((argument_list *)list)->finished = 1;
    return 0;
}

int aclrtLaunchKernelWithConfig(void *function, uint32_t blocks, uint64_t on, void *config, void *list, void *reserve)
{
    DEVICE("aclrtLaunchKernelWithConfig");
    argument_list *l = list;
    if (config || reserve || !l->finished) return said(RT_PARAM, "finished arguments, and nothing else");
    int code = ((binary_function)function)(blocks, on, l->data, l->size);
    free(l);
    return code;
}

int aclrtBinaryUnLoad(void *binary)
{
    DEVICE("aclrtBinaryUnLoad");
    free(binary);
    return 0;
}
