// /// schedule
// [define]
// BX = 32
// BY = 8
// [scratch]
// B = { dtype = "float32", shape = ["N", "N"] }
// [[repeat]]
// var = "t"
// count = "T"
// [[repeat.launch]]
// kernel = "smooth"
// grid = ["ceildiv(N, BX)", "ceildiv(N, BY)"]
// block = ["BX", "BY"]
// args = ["A", "B", "N"]
// [[repeat.launch]]
// kernel = "copy"
// grid = ["ceildiv(N, BX)", "ceildiv(N, BY)"]
// block = ["BX", "BY"]
// args = ["B", "A", "N"]
// [tune]
// BX = [16, 32, 64]
// BY = [4, 8]
// ///

__global__ void smooth(const float* A, float* B, int n) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1) return;
    const float* a = A + (size_t)i * n + j;
    B[(size_t)i * n + j] = 0.2f * (a[0] + a[-n] + a[n] + a[-1] + a[1]);
}

__global__ void copy(const float* B, float* A, int n) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1) A[(size_t)i * n + j] = B[(size_t)i * n + j];
}
