// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "spmv"
// grid = ["ceildiv(R, BLOCK)"]
// block = ["BLOCK"]
// args = ["start", "column", "value", "x", "y", "R"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// One thread per row.
__global__ void spmv(const int* start, const int* column, const float* value, const float* x, float* y, int r) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= r) return;
    float sum = 0.0f;
    for (int at = start[i]; at < start[i + 1]; ++at) sum += value[at] * x[column[at]];
    y[i] = sum;
}
