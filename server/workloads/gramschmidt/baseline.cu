// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "copy"
// grid = ["ceildiv(M * N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "Q", "M*N"]
// [[repeat]]
// var = "k"
// count = "N"
// [[repeat.launch]]
// kernel = "normalize"
// grid = [1]
// block = ["BLOCK"]
// args = ["Q", "R", "k", "M", "N"]
// [[repeat.launch]]
// kernel = "project"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["Q", "R", "k", "M", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

__global__ void copy(const float* A, float* Q, long long elements) {
    long long at = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (at < elements) Q[at] = A[at];
}

// R[k,k] is the length of column k, which is then divided by it; one block.
__global__ void normalize(float* Q, float* R, int k, int m, int n) {
    __shared__ float partial[BLOCK];
    float squares = 0.0f;
    for (int i = threadIdx.x; i < m; i += BLOCK) squares += Q[(size_t)i * n + k] * Q[(size_t)i * n + k];
    partial[threadIdx.x] = squares;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float length = sqrtf(partial[0]);
    if (threadIdx.x == 0) R[(size_t)k * n + k] = length;
    for (int i = threadIdx.x; i < m; i += BLOCK) Q[(size_t)i * n + k] /= length;
}

// Every later column loses its part along column k; earlier entries of row k of R are zero. One thread per column.
__global__ void project(float* Q, float* R, int k, int m, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= n || j == k) return;
    if (j < k) {
        R[(size_t)k * n + j] = 0.0f;
        return;
    }
    float along = 0.0f;
    for (int i = 0; i < m; ++i) along += Q[(size_t)i * n + k] * Q[(size_t)i * n + j];
    R[(size_t)k * n + j] = along;
    for (int i = 0; i < m; ++i) Q[(size_t)i * n + j] -= Q[(size_t)i * n + k] * along;
}
