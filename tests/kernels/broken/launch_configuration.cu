__global__ void scale(float* x) { x[0] = 1; }
int main() {
  scale<<<1, 1, 0, 0, 0, 0>>>(nullptr);  // expect nvcc-argument-count
}
