// builds
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void scale(int* x) { x[0] = fib(x[1]); }  // expect ptxas-stack-size
