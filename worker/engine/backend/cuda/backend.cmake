# All .cc files of this folder and its subfolders. gp_backend_cuda compiles them against the toolkit, gp_backend_cuda_emulated
# (in tests/) against the emulation. Only the first has attention through cuDNN, whose file is not in this list.
set(GP_CUDA_BACKEND_SOURCES
  attention/attention_check.cc
  attention_choice.cc
  products/cublas_lt.cc
  cuda_backend.cc
  runtime/cuda_device.cc
  cuda_device_backend.cc
  runtime/device_allocations.cc
  fastest_candidate.cc
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
# A program may link another definition of the same functions (device_backend.h), so this file stays a separate object file.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/cuda_device_backend.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
