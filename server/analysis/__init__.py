"""Static analysis of kernels: of their source, their PTX and their machine code. It runs nothing."""
