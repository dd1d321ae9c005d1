// flags -rdc=true
#include <cstdlib>
__global__ void scale(float* x) { x[0] = 1; }
extern "C" int _start() { return 0; }  // expect-anywhere ld-multiple-definition
int main() { scale<<<1, 1>>>(nullptr); }
