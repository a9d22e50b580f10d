# Every .cc file of this folder and of those in it, once: gp_backend_cuda compiles them against the toolkit,
# gp_backend_cuda_emulated (in tests/) against the emulation. Attention through cuDNN exists in the first only.
set(GP_CUDA_BACKEND_SOURCES
  attention/attention_check.cc
  attention_choice.cc
  products/cublas_lt.cc
  cuda_backend.cc
  runtime/cuda_device.cc
  cuda_device_backend.cc
  runtime/device_allocations.cc
  attention/flash_attention.cc
  products/fp8_operands.cc
  products/gemm_choices.cc
  gemm_tuning.cc
  runtime/graph_cache.cc
  products/linear_products.cc
  attention/math_attention.cc
  products/product.cc
  runtime/runtime.cc
  tuned_gemms.cc
  runtime/upload_staging.cc)
list(TRANSFORM GP_CUDA_BACKEND_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
# Another library may define the same functions for a program, so this file stays an object of its own.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/cuda_device_backend.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
