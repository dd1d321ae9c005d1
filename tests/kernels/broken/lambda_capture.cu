// flags -extended-lambda
template <class F>
__global__ void apply(F f, float* x) { x[0] = f(x[1]); }
int main() {
  float a = 2;
  apply<<<1, 1>>>([&] __device__(float v) { return v * a; }, (float*)nullptr);  // expect nvcc-extended-lambda
}
