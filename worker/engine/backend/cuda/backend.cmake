# Every .cc file of this folder, once: gp_backend_cuda compiles them against the toolkit, gp_backend_cuda_emulated (in
# tests/) against the emulation. Attention through cuDNN exists in the first only.
set(GP_CUDA_BACKEND_SOURCES
  attention_check.cc
  attention_choice.cc
  cublas_lt.cc
  cuda_backend.cc
  cuda_device.cc
  cuda_device_backend.cc
  device_allocations.cc
  flash_attention.cc
  fp8_operands.cc
  gemm_choices.cc
  gemm_tuning.cc
  graph_cache.cc
  linear_products.cc
  math_attention.cc
  product.cc
  runtime.cc
  tuned_gemms.cc
  upload_staging.cc)
list(TRANSFORM GP_CUDA_BACKEND_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
# Another library may define the same functions for a program, so this file stays an object of its own.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/cuda_device_backend.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
