// /// schedule
// [define]
// BLOCK = 64
// [[repeat]]
// var = "t"
// count = "T"
// [[repeat.launch]]
// kernel = "sweep_rows"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["X", "A", "B", "N"]
// [[repeat.launch]]
// kernel = "sweep_columns"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["X", "A", "B", "N"]
// [tune]
// BLOCK = [32, 64, 128]
// ///

// One line of n elements, `stride` apart: eliminate forward, scale the end, substitute backward. The backward step
// divides by the diagonal `behind` elements before the one that it writes.
__device__ void sweep(float* X, const float* A, float* B, int n, size_t stride, int behind) {
    for (int k = 1; k < n; ++k) {
        size_t at = k * stride, before = at - stride;
        X[at] -= X[before] * A[at] / B[before];
        B[at] -= A[at] * A[at] / B[before];
    }
    X[(n - 1) * stride] /= B[(n - 1) * stride];
    for (int k = n - 2; k > 0; --k) {
        size_t at = k * stride, before = at - stride;
        X[at] = (X[at] - X[before] * A[before]) / B[at - behind * stride];
    }
}

// One thread per row.
__global__ void sweep_rows(float* X, const float* A, float* B, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) sweep(X + (size_t)i * n, A + (size_t)i * n, B + (size_t)i * n, n, 1, 1);
}

// One thread per column.
__global__ void sweep_columns(float* X, const float* A, float* B, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j < n) sweep(X + j, A + j, B + j, n, n, 0);
}
