// /// schedule
// [define]
// BX = 32
// BY = 4
// [[launch]]
// kernel = "pool"
// grid = ["ceildiv((W - K)//STEP + 1, BX)", "ceildiv((H - K)//STEP + 1, BY)", "B * C"]
// block = ["BX", "BY"]
// args = ["x", "largest", "mean", "H", "W", "K", "STEP", "(H-K)//STEP+1", "(W-K)//STEP+1"]
// [tune]
// BX = [16, 32, 64]
// BY = [2, 4, 8]
// ///

// One thread per window; the images of a batch and their channels lie along grid.z.
__global__ void pool(const float* x, float* largest, float* mean, int h, int w, int k, int step, int rows, int columns) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i >= rows || j >= columns) return;
    const float* window = x + ((size_t)blockIdx.z * h + i * step) * w + j * step;
    float most = -INFINITY, sum = 0.0f;
    for (int u = 0; u < k; ++u)
        for (int v = 0; v < k; ++v) {
            most = fmaxf(most, window[(size_t)u * w + v]);
            sum += window[(size_t)u * w + v];
        }
    size_t at = ((size_t)blockIdx.z * rows + i) * columns + j;
    largest[at] = most;
    mean[at] = sum / (k * k);
}
