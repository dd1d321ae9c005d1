// flags -rdc=true
extern __device__ float elsewhere(float);
__global__ void scale(float* x) {
  x[0] = elsewhere(x[1]);  // expect nvlink-undefined-reference
}
int main() { scale<<<1, 1>>>(nullptr); }
