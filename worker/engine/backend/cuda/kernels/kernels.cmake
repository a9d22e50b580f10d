# Every .cu file of this folder, once: gp_cuda_kernels compiles them for the device, gp_cuda_kernels_emulated (in tests/)
# for the host.
set(GP_CUDA_KERNEL_SOURCES
  layer_norm.cu
  layer_norm_backward.cu
  residual.cu)
list(TRANSFORM GP_CUDA_KERNEL_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
