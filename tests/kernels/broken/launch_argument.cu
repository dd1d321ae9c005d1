__global__ void scale(float* x, int n) { x[0] = n; }
int main() {
  scale<<<1, 32>>>(1.0f, 2);  // expect nvcc-incompatible-types
}
