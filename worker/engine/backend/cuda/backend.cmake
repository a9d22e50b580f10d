# Every .cc file of this folder, once: gp_backend_cuda compiles them against the toolkit, gp_backend_cuda_emulated (in
# tests/) against the emulation. Attention through cuDNN exists in the first only.
set(GP_CUDA_BACKEND_SOURCES
  cublas_lt.cc
  cuda_device.cc
  gemm_choices.cc
  graph_cache.cc
  runtime.cc
  upload_staging.cc)
list(TRANSFORM GP_CUDA_BACKEND_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
