// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "top_k"
// grid = ["R"]
// block = ["BLOCK"]
// args = ["x", "value", "index", "C", "K"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// One block per row finds the largest element below the one found last, K times.
__global__ void top_k(const float* x, float* value, int* index, int c, int k) {
    __shared__ float best[BLOCK];
    __shared__ int where[BLOCK];
    const float* row = x + (size_t)blockIdx.x * c;
    float last = INFINITY;
    for (int rank = 0; rank < k; ++rank) {
        float most = -INFINITY;
        int at = -1;
        for (int j = threadIdx.x; j < c; j += BLOCK)
            if (row[j] < last && row[j] > most) {
                most = row[j];
                at = j;
            }
        best[threadIdx.x] = most;
        where[threadIdx.x] = at;
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (threadIdx.x < half && best[threadIdx.x + half] > best[threadIdx.x]) {
                best[threadIdx.x] = best[threadIdx.x + half];
                where[threadIdx.x] = where[threadIdx.x + half];
            }
            __syncthreads();
        }
        last = best[0];
        if (threadIdx.x == 0) {
            value[(size_t)blockIdx.x * k + rank] = last;
            index[(size_t)blockIdx.x * k + rank] = where[0];
        }
        __syncthreads();
    }
}
