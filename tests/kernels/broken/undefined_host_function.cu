void elsewhere();
__global__ void scale(float* x) { x[0] = 1; }
int main() {
  scale<<<1, 1>>>(nullptr);
  elsewhere();  // expect ld-undefined-reference
}
