__global__ void scale(float* x) { x[0] = 1; }
int main() {
  scale(nullptr);  // expect nvcc-launch-configuration
}
