// /// schedule
// [define]
// BX = 32
// BY = 8
// [[repeat]]
// var = "t"
// count = "T"
// [[repeat.launch]]
// kernel = "update_e"
// grid = ["ceildiv(NY, BX)", "ceildiv(NX, BY)"]
// block = ["BX", "BY"]
// args = ["fict", "ex", "ey", "hz", "t", "NX", "NY"]
// [[repeat.launch]]
// kernel = "update_h"
// grid = ["ceildiv(NY, BX)", "ceildiv(NX, BY)"]
// block = ["BX", "BY"]
// args = ["ex", "ey", "hz", "NX", "NY"]
// [tune]
// BX = [16, 32, 64]
// BY = [4, 8]
// ///

// Both components of the electric field inside the grid; the last column of ex and row of ey stay as they are.
__global__ void update_e(const float* fict, float* ex, float* ey, const float* hz, int t, int nx, int ny) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i >= nx || j >= ny) return;
    float h = hz[(size_t)i * ny + j];
    if (i == 0) ey[j] = fict[t];
    else ey[(size_t)i * ny + j] -= 0.5f * (h - hz[(size_t)(i - 1) * ny + j]);
    if (j > 0) ex[(size_t)i * (ny + 1) + j] -= 0.5f * (h - hz[(size_t)i * ny + j - 1]);
}

__global__ void update_h(const float* ex, const float* ey, float* hz, int nx, int ny) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i >= nx || j >= ny) return;
    const float* e = ex + (size_t)i * (ny + 1) + j;
    hz[(size_t)i * ny + j] -= 0.7f * (e[1] - e[0] + ey[(size_t)(i + 1) * ny + j] - ey[(size_t)i * ny + j]);
}
