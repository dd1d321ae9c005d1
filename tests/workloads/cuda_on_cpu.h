// Runs CUDA kernels on the CPU, one fiber per CUDA thread, block after block: for tests of correctness at tiny sizes.
//
// Barriers and warp shuffles really wait, in either order of the threads, so that a missing barrier shows. A barrier that
// not all live threads reach, one that some threads have left behind by returning, and an access beyond a guarded buffer
// end the launch with a status. It says nothing of speed, nor of races between blocks.
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#undef __shared__
#undef __global__
#undef __device__
#undef __launch_bounds__
#define __shared__ static
#define __global__ static
#define __device__
#define __launch_bounds__(...)
#define __syncthreads() ::emulator::block_barrier()
#define __syncwarp(...) ::emulator::warp_barrier()
#define threadIdx (::emulator::current->thread)
#define blockIdx (::emulator::block_index)
#define blockDim (::emulator::block_size)
#define gridDim (::emulator::grid_size)
#define warpSize 32

namespace emulator {

enum Status { DONE = 0, FAULT = 1, DIVERGED = 2, LEFT_BARRIER = 3 };
enum State { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, ENDED };

constexpr size_t STACK = 64 * 1024;
constexpr unsigned MOST_THREADS = 1024;

struct Fiber {
    uint3 thread;
    unsigned index;
    State state;
    ucontext_t context;
    uint64_t exchanged;
};

inline Fiber fibers[MOST_THREADS];
inline Fiber* current = nullptr;
inline ucontext_t scheduler;
inline uint3 block_index;
inline dim3 block_size, grid_size;
inline void (*body)(void**) = nullptr;
inline void** arguments = nullptr;
alignas(128) inline unsigned char dynamic_shared[232448];
inline sigjmp_buf escape;
inline void* fault_address = nullptr;

inline void wait_as(State state) {
    current->state = state;
    swapcontext(&current->context, &scheduler);
}
inline void block_barrier() { wait_as(AT_BLOCK_BARRIER); }
inline void warp_barrier() { wait_as(AT_WARP_BARRIER); }

inline void fiber_main() {
    body(arguments);
    current->state = ENDED;
    swapcontext(&current->context, &scheduler);
}

inline char* stacks() {
    static char* pool = static_cast<char*>(
        mmap(nullptr, STACK * MOST_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return pool;
}

inline void start(unsigned index) {
    Fiber& fiber = fibers[index];
    fiber.index = index;
    fiber.state = READY;
    fiber.thread = {index % block_size.x, index / block_size.x % block_size.y, index / block_size.x / block_size.y};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks() + STACK * index;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
}

// Lets warps whose live threads all wait at a warp barrier go on; returns whether one did.
inline bool release_warps(unsigned threads) {
    bool released = false;
    for (unsigned first = 0; first < threads; first += 32) {
        unsigned last = std::min(first + 32, threads), waiting = 0, live = 0;
        for (unsigned i = first; i < last; ++i) {
            waiting += fibers[i].state == AT_WARP_BARRIER;
            live += fibers[i].state != ENDED;
        }
        if (waiting == 0 || waiting != live) continue;
        for (unsigned i = first; i < last; ++i)
            if (fibers[i].state == AT_WARP_BARRIER) fibers[i].state = READY;
        released = true;
    }
    return released;
}

inline Status run_block(unsigned threads, bool reverse) {
    for (unsigned i = 0; i < threads; ++i) start(i);
    for (;;) {
        for (unsigned turn = 0; turn < threads; ++turn) {
            Fiber& fiber = fibers[reverse ? threads - 1 - turn : turn];
            if (fiber.state != READY) continue;
            current = &fiber;
            swapcontext(&scheduler, &fiber.context);
        }
        if (release_warps(threads)) continue;
        unsigned ended = 0, waiting = 0;
        for (unsigned i = 0; i < threads; ++i) {
            ended += fibers[i].state == ENDED;
            waiting += fibers[i].state == AT_BLOCK_BARRIER;
        }
        if (ended == threads) return DONE;
        if (waiting != threads) return ended + waiting == threads ? LEFT_BARRIER : DIVERGED;
        for (unsigned i = 0; i < threads; ++i) fibers[i].state = READY;
    }
}

inline void on_fault(int, siginfo_t* info, void*) {
    fault_address = info->si_addr;
    siglongjmp(escape, 1);
}

inline Status run_grid(bool reverse) {
    unsigned threads = block_size.x * block_size.y * block_size.z;
    size_t blocks = size_t(grid_size.x) * grid_size.y * grid_size.z;
    for (size_t turn = 0; turn < blocks; ++turn) {
        size_t block = reverse ? blocks - 1 - turn : turn;
        block_index = {unsigned(block % grid_size.x), unsigned(block / grid_size.x % grid_size.y),
                       unsigned(block / grid_size.x / grid_size.y)};
        Status status = run_block(threads, reverse);
        if (status != DONE) return status;
    }
    return DONE;
}

// One launch. `where` receives block x, y, z, thread x, y, z and the address of a fault.
inline int launch(void (*kernel)(void**), const unsigned* grid, const unsigned* block, void** given, int reverse,
                  uint64_t* where) {
    static char signal_stack[64 * 1024];
    stack_t alternate = {signal_stack, 0, sizeof signal_stack};
    struct sigaction action = {}, before_segv, before_bus;
    sigaltstack(&alternate, nullptr);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
    grid_size = dim3(grid[0], grid[1], grid[2]);
    block_size = dim3(block[0], block[1], block[2]);
    body = kernel;
    arguments = given;
    int status = sigsetjmp(escape, 1) ? FAULT : run_grid(reverse != 0);
    sigaction(SIGSEGV, &before_segv, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
    if (status != DONE && current) {
        uint64_t told[] = {block_index.x,     block_index.y,     block_index.z,          current->thread.x,
                           current->thread.y, current->thread.z, uint64_t(fault_address)};
        std::memcpy(where, told, sizeof told);
    }
    return status;
}

template <auto Kernel>
struct Call;
template <typename... P, void (*Kernel)(P...)>
struct Call<Kernel> {
    static void run(void** given) { run(given, std::index_sequence_for<P...>{}); }
    template <size_t... I>
    static void run(void** given, std::index_sequence<I...>) {
        Kernel(*static_cast<std::remove_cv_t<P>*>(given[I])...);
    }
};

template <typename T>
T exchange(T value, unsigned source_lane) {
    static_assert(sizeof(T) <= 8);
    unsigned base = current->index & ~31u;
    std::memcpy(&current->exchanged, &value, sizeof(T));
    warp_barrier();
    T got = value;
    unsigned source = base + (source_lane & 31);
    if (source < block_size.x * block_size.y * block_size.z) std::memcpy(&got, &fibers[source].exchanged, sizeof(T));
    warp_barrier();
    return got;
}
inline unsigned lane() { return current->index & 31; }

}  // namespace emulator

template <typename T>
T __shfl_sync(unsigned, T value, int source) { return ::emulator::exchange(value, source); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) { return ::emulator::exchange(value, ::emulator::lane() ^ mask); }
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned by) {
    return ::emulator::exchange(value, ::emulator::lane() + by < 32 ? ::emulator::lane() + by : ::emulator::lane());
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
    return ::emulator::exchange(value, ::emulator::lane() >= by ? ::emulator::lane() - by : ::emulator::lane());
}

template <typename T>
T atomicAdd(T* at, T value) { T old = *at; *at = old + value; return old; }
template <typename T>
T atomicMax(T* at, T value) { T old = *at; *at = std::max(old, value); return old; }
template <typename T>
T atomicMin(T* at, T value) { T old = *at; *at = std::min(old, value); return old; }
template <typename T>
T __ldg(const T* at) { return *at; }

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
