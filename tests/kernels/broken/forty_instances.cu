template <int N>
__global__ void scale(float* x) {
  static_assert(N > 40, "N too small");  // expect nvcc-static-assertion
  x[0] = N;
}
template __global__ void scale<1>(float*);
template __global__ void scale<2>(float*);
template __global__ void scale<3>(float*);
template __global__ void scale<4>(float*);
template __global__ void scale<5>(float*);
template __global__ void scale<6>(float*);
template __global__ void scale<7>(float*);
template __global__ void scale<8>(float*);
template __global__ void scale<9>(float*);
template __global__ void scale<10>(float*);
template __global__ void scale<11>(float*);
template __global__ void scale<12>(float*);
template __global__ void scale<13>(float*);
template __global__ void scale<14>(float*);
template __global__ void scale<15>(float*);
template __global__ void scale<16>(float*);
template __global__ void scale<17>(float*);
template __global__ void scale<18>(float*);
template __global__ void scale<19>(float*);
template __global__ void scale<20>(float*);
template __global__ void scale<21>(float*);
template __global__ void scale<22>(float*);
template __global__ void scale<23>(float*);
template __global__ void scale<24>(float*);
template __global__ void scale<25>(float*);
template __global__ void scale<26>(float*);
template __global__ void scale<27>(float*);
template __global__ void scale<28>(float*);
template __global__ void scale<29>(float*);
template __global__ void scale<30>(float*);
template __global__ void scale<31>(float*);
template __global__ void scale<32>(float*);
template __global__ void scale<33>(float*);
template __global__ void scale<34>(float*);
template __global__ void scale<35>(float*);
template __global__ void scale<36>(float*);
template __global__ void scale<37>(float*);
template __global__ void scale<38>(float*);
template __global__ void scale<39>(float*);
template __global__ void scale<40>(float*);
