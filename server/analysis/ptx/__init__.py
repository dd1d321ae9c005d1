"""The PTX layer: what the compiler made of the kernels before the machine code, for every architecture alike."""
