// What the libraries of the fake CANN share. All of it is for tests; nothing of it is Huawei's.
#pragma once
#include <stddef.h>
#include <stdint.h>

// A range of memory that a task reads or writes.
typedef struct {
    uint64_t address, size;
    int writes;
} fake_range;

typedef int (*fake_body)(void *data);

#ifdef __cplusplus
extern "C" {
#endif
// Gives a stream work: `body` is called with a copy of `data` when the stream gets to it; what it does not return 0
// for is an error of the device. Returns an aclError.
int fake_enqueue(uint64_t stream, fake_body body, const void *data, size_t size, const fake_range *ranges, int count);
// Notes a breach of CANN's rules.
void fake_violation(const char *format, ...);
// Counts objects of a kind that are alive, for the report at the end.
void fake_count(const char *kind, int amount);
// The code that a function was told to fail with next (fake_fail), or 0.
int fake_failure(const char *function);
#ifdef __cplusplus
}
#endif
