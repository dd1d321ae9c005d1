// /// schedule
// [define]
// BLOCK = 256
// [[launch]]
// kernel = "add"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "y", "z", "N"]
// ///
__global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
