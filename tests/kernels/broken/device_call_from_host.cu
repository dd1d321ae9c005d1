__device__ float on_device(float a) { return a + 1; }
__global__ void scale(float* x) { x[0] = on_device(x[1]); }
int main() {
  return on_device(1.0f) > 0;  // expect nvcc-device-call
}
