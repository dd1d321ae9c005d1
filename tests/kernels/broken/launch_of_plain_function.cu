void scale(float* x) { x[0] = 1; }
int main() {
  scale<<<1, 1>>>(nullptr);  // expect nvcc-launch-configuration
}
