"""The CUDA plugin of hone: libhone_cuda.so, which hone opens. There is nothing to import."""
