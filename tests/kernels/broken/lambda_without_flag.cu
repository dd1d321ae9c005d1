template <class F>
__global__ void apply(F f, float* x) { x[0] = f(x[1]); }
int main() {
  apply<<<1, 1>>>([] __device__(float v) { return v; }, (float*)nullptr);  // expect nvcc-extended-lambda
}
