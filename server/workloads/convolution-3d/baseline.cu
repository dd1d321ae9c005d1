// /// schedule
// [define]
// BX = 32
// BY = 4
// [[launch]]
// kernel = "convolve"
// grid = ["ceildiv(NK, BX)", "ceildiv(NJ, BY)", "NI"]
// block = ["BX", "BY"]
// args = ["A", "W", "B", "NI", "NJ", "NK"]
// [tune]
// BX = [16, 32, 64]
// BY = [2, 4, 8]
// ///

// One thread per element of B.
__global__ void convolve(const float* A, const float* W, float* B, int ni, int nj, int nk) {
    int i = blockIdx.z;
    int j = blockIdx.y * BY + threadIdx.y;
    int k = blockIdx.x * BX + threadIdx.x;
    if (j >= nj || k >= nk) return;
    float sum = 0.0f;
    if (i > 0 && i < ni - 1 && j > 0 && j < nj - 1 && k > 0 && k < nk - 1)
        for (int u = 0; u < 3; ++u)
            for (int v = 0; v < 3; ++v)
                for (int w = 0; w < 3; ++w)
                    sum += W[(u * 3 + v) * 3 + w] * A[((size_t)(i + u - 1) * nj + j + v - 1) * nk + k + w - 1];
    B[((size_t)i * nj + j) * nk + k] = sum;
}
