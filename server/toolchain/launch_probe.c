/* Counts a program's kernel launches, from inside it. Linked into programs that warpwise builds, with `--wrap` for each
 * entry point below, it notes in `launches.bin` which kernel was launched, how often, with which grid and block, and
 * which error came back. It includes no CUDA header, takes no lock that a killed thread could keep, and passes every
 * call on unchanged; where it cannot write its table, it does nothing at all. The table is a shared mapping, so that it
 * outlives a crash or a kill. `launch_probe.py` reads it: change both together. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define SLOTS 512
#define SITES 8
#define HANDLES 4096
#define SPIN_LIMIT 100000
#define UNKNOWN INT64_MIN

enum { FREE, CLAIMED, READY };
enum { DIRECT, CAPTURED };
enum { TALLY_LAUNCHED, TALLY_FAILED, TALLY_GRAPHS, TALLY_GRAPHS_FAILED, TALLY_DRIVER, TALLY_DRIVER_FAILED, TALLY_LOST, TALLIES };

typedef struct { unsigned x, y, z; } dim3;
typedef struct { dim3 grid, block; uint64_t shared_bytes; } config;

typedef struct {
  uint32_t state, captured;
  int32_t error, padding;
  int64_t function;
  int64_t sites[SITES];
  uint64_t count, last;
  config first, latest;
} slot;

typedef struct {
  char magic[8];
  uint32_t slot_bytes, slots;
  uint64_t tallies[TALLIES];
  uint64_t sequence;
  slot entries[SLOTS];
} table;

extern const char __executable_start[] __attribute__((weak));
extern const char etext[] __attribute__((weak));

static table *notes;
static int captures;
static struct { const void *handle, *function; } handles[HANDLES];
static unsigned handle_count;

__attribute__((constructor)) static void open_table(void) {
  int saved = errno, file = open("launches.bin", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) {
    if (posix_fallocate(file, 0, sizeof(table)) == 0) {
      void *mapped = mmap(0, sizeof(table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) {
        notes = mapped;
        notes->slot_bytes = sizeof(slot);
        notes->slots = SLOTS;
        memcpy(notes->magic, "WWLAUNCH", 8);
      }
    }
    close(file);
  }
  errno = saved;
}

static int64_t place(const void *address) {
  return address ? (int64_t)((const char *)address - __executable_start) : UNKNOWN;
}

typedef struct { int64_t *sites; int found; } walk;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *given) {
  walk *taken = given;
  const char *address = (const char *)_Unwind_GetIP(context);
  if (address >= __executable_start && address < etext && taken->found < SITES) taken->sites[taken->found++] = place(address);
  return taken->found < SITES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* A slot's key: the function where it is known, else the frames of the call. Failed launches differ by frames too. */
static int holds(const slot *entry, const slot *wanted) {
  return entry->function == wanted->function && entry->error == wanted->error && entry->captured == wanted->captured &&
         ((wanted->function != UNKNOWN && !wanted->error) || !memcmp(entry->sites, wanted->sites, sizeof wanted->sites));
}

static void add(slot *entry, config given) {
  __atomic_fetch_add(&entry->count, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->last, __atomic_add_fetch(&notes->sequence, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  entry->latest = given;
}

static int claim(slot *entry, const slot *wanted, config given) {
  uint32_t expected = FREE;
  if (!__atomic_compare_exchange_n(&entry->state, &expected, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return 0;
  entry->captured = wanted->captured;
  entry->error = wanted->error;
  entry->function = wanted->function;
  memcpy(entry->sites, wanted->sites, sizeof wanted->sites);
  entry->first = given;
  add(entry, given);
  __atomic_store_n(&entry->state, READY, __ATOMIC_RELEASE);
  return 1;
}

static void note(const void *function, dim3 grid, dim3 block, size_t shared_bytes, int error, int captured) {
  if (!notes || error == 600 /* not ready: no launch */) return;
  int saved = errno;
  config given = {grid, block, shared_bytes};
  slot wanted = {.captured = (uint32_t)captured, .error = error, .function = place(function)};
  unsigned start = (unsigned)((uint64_t)wanted.function * 0x9E3779B97F4A7C15ull >> 48) + (unsigned)error;
  int walked = 0;
  __atomic_fetch_add(&notes->tallies[error ? TALLY_FAILED : TALLY_LAUNCHED], 1, __ATOMIC_RELAXED);
  for (unsigned probe = 0; probe < SLOTS; ++probe) {
    slot *entry = &notes->entries[(start + probe) % SLOTS];
    uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
    for (int spin = 0; state == CLAIMED && spin < SPIN_LIMIT; ++spin) state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
    if (!walked && (state == FREE || error || wanted.function == UNKNOWN)) {
      walk taken = {wanted.sites, 0};
      for (int index = 0; index < SITES; ++index) wanted.sites[index] = UNKNOWN;
      _Unwind_Backtrace(step, &taken);
      walked = 1;
    }
    if (state == READY && holds(entry, &wanted)) {
      add(entry, given);
      errno = saved;
      return;
    }
    if (state == FREE && claim(entry, &wanted, given)) {
      errno = saved;
      return;
    }
  }
  __atomic_fetch_add(&notes->tallies[TALLY_LOST], 1, __ATOMIC_RELAXED);
  errno = saved;
}

static int capturing(void) { return __atomic_load_n(&captures, __ATOMIC_RELAXED) > 0 ? CAPTURED : DIRECT; }

static void tally(int succeeded, int failed, int error) {
  if (notes) __atomic_fetch_add(&notes->tallies[error ? failed : succeeded], 1, __ATOMIC_RELAXED);
}

#define REAL(result, name, ...) \
  extern result __real_##name(__VA_ARGS__) __attribute__((weak)); \
  result __wrap_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)

/* The launch that nvcc emits since CUDA 13 names the kernel by a handle: remember whose handle it is. */
REAL(int, __cudaGetKernel, const void **handle, const void *function) {
  int error = __real___cudaGetKernel(handle, function);
  unsigned index = error ? HANDLES : __atomic_fetch_add(&handle_count, 1, __ATOMIC_ACQ_REL);
  if (index < HANDLES) {
    handles[index].function = function;
    __atomic_store_n(&handles[index].handle, *handle, __ATOMIC_RELEASE);
  }
  return error;
}

static const void *function_of(const void *handle) {
  unsigned count = __atomic_load_n(&handle_count, __ATOMIC_ACQUIRE);
  for (unsigned index = 0; handle && index < count && index < HANDLES; ++index)
    if (__atomic_load_n(&handles[index].handle, __ATOMIC_ACQUIRE) == handle) return handles[index].function;
  return 0;
}

#define LAUNCH(name, identify) \
  REAL(int, name, const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes, void *stream) { \
    int captured = capturing(), error = __real_##name(kernel, grid, block, arguments, shared_bytes, stream); \
    note(identify(kernel), grid, block, shared_bytes, error, captured); \
    return error; \
  }
#define ITSELF(function) (function)

LAUNCH(cudaLaunchKernel, ITSELF)
LAUNCH(cudaLaunchKernel_ptsz, ITSELF)
LAUNCH(cudaLaunchCooperativeKernel, ITSELF)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, ITSELF)
LAUNCH(__cudaLaunchKernel, function_of)
LAUNCH(__cudaLaunchKernel_ptsz, function_of)

typedef struct { dim3 grid, block; size_t shared_bytes; void *stream; } launch_config; /* the head of cudaLaunchConfig_t */

#define LAUNCH_EX(name) \
  REAL(int, name, const launch_config *given, const void *function, void **arguments) { \
    int captured = capturing(), error = __real_##name(given, function, arguments); \
    if (given) note(function, given->grid, given->block, given->shared_bytes, error, captured); \
    return error; \
  }

LAUNCH_EX(cudaLaunchKernelExC)
LAUNCH_EX(cudaLaunchKernelExC_ptsz)

typedef struct { const void *function; dim3 grid, block; unsigned shared_bytes; } node_config; /* the head of cudaKernelNodeParams */

REAL(int, cudaGraphAddKernelNode, void **node, void *graph, const void *after, size_t count, const node_config *given) {
  int error = __real_cudaGraphAddKernelNode(node, graph, after, count, given);
  if (given && !error) note(given->function, given->grid, given->block, given->shared_bytes, error, CAPTURED);
  return error;
}

#define GRAPH(name) \
  REAL(int, name, void *graph, void *stream) { \
    int error = __real_##name(graph, stream); \
    tally(TALLY_GRAPHS, TALLY_GRAPHS_FAILED, error); \
    return error; \
  }

GRAPH(cudaGraphLaunch)
GRAPH(cudaGraphLaunch_ptsz)
GRAPH(cuGraphLaunch)

static int count_capture(int change, int error) {
  if (!error) __atomic_fetch_add(&captures, change, __ATOMIC_RELAXED);
  return error;
}

REAL(int, cudaStreamBeginCapture, void *stream, int mode) {
  return count_capture(1, __real_cudaStreamBeginCapture(stream, mode));
}
REAL(int, cudaStreamBeginCapture_ptsz, void *stream, int mode) {
  return count_capture(1, __real_cudaStreamBeginCapture_ptsz(stream, mode));
}
REAL(int, cudaStreamBeginCaptureToGraph, void *s, void *g, const void *d, const void *e, size_t n, int mode) {
  return count_capture(1, __real_cudaStreamBeginCaptureToGraph(s, g, d, e, n, mode));
}
REAL(int, cudaStreamBeginCaptureToGraph_ptsz, void *s, void *g, const void *d, const void *e, size_t n, int mode) {
  return count_capture(1, __real_cudaStreamBeginCaptureToGraph_ptsz(s, g, d, e, n, mode));
}
/* An end that reports a broken capture (901 to 907) ends it all the same. */
static int ended(int error) { return error >= 901 && error <= 907 ? 0 : error; }

REAL(int, cudaStreamEndCapture, void *stream, void **graph) {
  int error = __real_cudaStreamEndCapture(stream, graph);
  count_capture(-1, ended(error));
  return error;
}
REAL(int, cudaStreamEndCapture_ptsz, void *stream, void **graph) {
  int error = __real_cudaStreamEndCapture_ptsz(stream, graph);
  count_capture(-1, ended(error));
  return error;
}

/* Launches through the driver name their kernel by an opaque handle: they are counted, not told apart. */
REAL(int, cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
     unsigned shared_bytes, void *stream, void **arguments, void **extra) {
  int error = __real_cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments, extra);
  tally(TALLY_DRIVER, TALLY_DRIVER_FAILED, error);
  return error;
}
REAL(int, cuLaunchKernelEx, const void *given, void *function, void **arguments, void **extra) {
  int error = __real_cuLaunchKernelEx(given, function, arguments, extra);
  tally(TALLY_DRIVER, TALLY_DRIVER_FAILED, error);
  return error;
}
REAL(int, cuLaunchCooperativeKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
     unsigned shared_bytes, void *stream, void **arguments) {
  int error = __real_cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, arguments);
  tally(TALLY_DRIVER, TALLY_DRIVER_FAILED, error);
  return error;
}
