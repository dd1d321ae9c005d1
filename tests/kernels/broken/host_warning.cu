// builds
// flags -Xcompiler=-Wall
#include <cstdio>
__global__ void scale(float* x) { x[0] = 1; }
int main() {
  scale<<<1, 1>>>(nullptr);
  printf("%d\n", 1.0);  // expect gcc-Wformat
}
