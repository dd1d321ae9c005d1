// /// schedule
// [define]
// BX = 32
// BY = 8
// [[launch]]
// kernel = "convolve"
// grid = ["ceildiv(NJ, BX)", "ceildiv(NI, BY)"]
// block = ["BX", "BY"]
// args = ["A", "W", "B", "NI", "NJ"]
// [tune]
// BX = [16, 32, 64]
// BY = [4, 8, 16]
// require = ["BX * BY <= 1024"]
// ///

// One thread per element of B.
__global__ void convolve(const float* A, const float* W, float* B, int ni, int nj) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i >= ni || j >= nj) return;
    float sum = 0.0f;
    if (i > 0 && i < ni - 1 && j > 0 && j < nj - 1)
        for (int u = 0; u < 3; ++u)
            for (int v = 0; v < 3; ++v) sum += W[u * 3 + v] * A[(size_t)(i + u - 1) * nj + j + v - 1];
    B[(size_t)i * nj + j] = sum;
}
