// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "rows"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "y1", "x1", "N"]
// [[launch]]
// kernel = "columns"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "y2", "x2", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

__global__ void rows(const float* A, const float* y1, float* x1, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float sum = x1[i];
    for (int j = 0; j < n; ++j) sum += A[(size_t)i * n + j] * y1[j];
    x1[i] = sum;
}

__global__ void columns(const float* A, const float* y2, float* x2, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= n) return;
    float sum = x2[j];
    for (int i = 0; i < n; ++i) sum += A[(size_t)i * n + j] * y2[i];
    x2[j] = sum;
}
