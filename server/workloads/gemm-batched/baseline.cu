// /// schedule
// [define]
// TILE = 16
// [[launch]]
// kernel = "multiply"
// grid = ["BATCH", "ceildiv(N, TILE)", "ceildiv(M, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "B", "C", "M", "N", "K"]
// [tune]
// TILE = [8, 16, 32]
// ///

#include <cuda_fp16.h>

// One thread per element of C; the batch lies along grid.x, which may be the longest.
__global__ void multiply(const __half* A, const __half* B, __half* C, int m, int n, int k) {
    int i = blockIdx.z * TILE + threadIdx.y;
    int j = blockIdx.y * TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    const __half* a = A + ((size_t)blockIdx.x * m + i) * k;
    const __half* b = B + (size_t)blockIdx.x * k * n + j;
    float sum = 0.0f;
    for (int x = 0; x < k; ++x) sum += __half2float(a[x]) * __half2float(b[(size_t)x * n]);
    C[((size_t)blockIdx.x * m + i) * n + j] = __float2half(sum);
}
