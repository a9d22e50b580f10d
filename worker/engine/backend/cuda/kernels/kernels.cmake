# All .cu files of this folder and its subfolders. gp_cuda_kernels compiles them for the device, gp_cuda_kernels_emulated (in
# tests/) for the host.
set(GP_CUDA_KERNEL_SOURCES
  adamw.cu
  add_bias.cu
  attention/cached_attention.cu
  attention/causal_softmax.cu
  column_sums.cu
  cross_entropy.cu
  embedding.cu
  attention/flash_attention.cu
  attention/flash_cuda_cores_backward.cu
  attention/flash_cuda_cores_forward.cu
  attention/flash_tensor_cores_backward.cu
  attention/flash_tensor_cores_forward.cu
  flat.cu
  fp8.cu
  gelu.cu
  gradient_factor.cu
  layer_norm.cu
  layer_norm_backward.cu
  likeliest.cu
  residual.cu
  sum_of_squares.cu
  token_sort.cu)
list(TRANSFORM GP_CUDA_KERNEL_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
