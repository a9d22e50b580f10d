# Finds the CUDA toolkit and the libraries that build on it; included only if GP_CUDA is on. No other part of the build needs
# nvcc. Defines the imported targets
#   cuda::runtime     cudart and its headers
#   cuda::cublas_lt   matrix products
#   cuda::cudnn       cuDNN 9, and cudnn-frontend, which is headers only
#   cuda::nccl        NCCL's header; the library is opened at run time
# The toolkit is the one whose nvcc is on PATH or in $CUDA_HOME (/usr/local/cuda), or else what `scripts/bootstrap --cuda`
# installed from wheels, where cuDNN and NCCL are in folders of their own. CMAKE_CUDA_COMPILER names another one.

set(GP_CUDA_VENV "${CMAKE_SOURCE_DIR}/.deps/cuda" CACHE PATH "Where scripts/bootstrap --cuda installs")
set(GP_CUDA_OLDEST 12.8)
set(gp_cuda_home "$ENV{CUDA_HOME}")
if(NOT gp_cuda_home)
  set(gp_cuda_home /usr/local/cuda)
endif()

# Python's minor version is part of the folder's name.
file(GLOB gp_cuda_wheels "${GP_CUDA_VENV}/lib/python3*/site-packages")
set(gp_cuda_wheel_toolkit "${gp_cuda_wheels}/nvidia/cu13")

function(gp_nvcc_version nvcc result)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  else()
    set(${result} 0 PARENT_SCOPE)
  endif()
endfunction()

if(NOT CMAKE_CUDA_COMPILER)
  find_program(gp_nvcc nvcc HINTS "${gp_cuda_home}/bin" "${gp_cuda_wheel_toolkit}/bin" NO_CACHE)
  if(NOT gp_nvcc)
    message(FATAL_ERROR "GP_CUDA is ON and there is no nvcc on PATH, in ${gp_cuda_home}/bin or in ${GP_CUDA_VENV}: run "
                        "scripts/bootstrap --cuda, or set CMAKE_CUDA_COMPILER, or configure with -DGP_CUDA=OFF")
  endif()
  set(CMAKE_CUDA_COMPILER "${gp_nvcc}" CACHE FILEPATH "nvcc")
endif()
gp_nvcc_version("${CMAKE_CUDA_COMPILER}" gp_nvcc_release)
if(gp_nvcc_release VERSION_LESS GP_CUDA_OLDEST)
  message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is of CUDA ${gp_nvcc_release}, gp needs ${GP_CUDA_OLDEST}: run "
                      "scripts/bootstrap --cuda and configure with "
                      "-DCMAKE_CUDA_COMPILER=${gp_cuda_wheel_toolkit}/bin/nvcc")
endif()

# One architecture (sm_90) in a developer's build and in CI; releases (preset cuda-all) carry machine code for the
# architectures listed here, and PTX for those that come after sm_120.
option(GP_CUDA_ALL_ARCHITECTURES "Compile for every supported GPU, not for sm_90 alone" OFF)
if(GP_CUDA_ALL_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "75-real;80-real;86-real;89-real;90-real;100-real;120-real;120-virtual")
elseif(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
# libtorch_cpu.so loads the shared CUDA runtime. Link the shared one too, so that a process has only one copy.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know yet that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
# -lineinfo gives profiles source lines and costs no speed. -compress-mode=size makes the kernels a quarter of their default
# size; a program decompresses them once, when it loads them.
string(APPEND CMAKE_CUDA_FLAGS " -lineinfo -compress-mode=size")

# Programs that are copied to a GPU machine have their libraries in ../lib (scripts/gpu_check). The old tag (DT_RPATH, not
# DT_RUNPATH) is also used to find the dependencies of these libraries.
list(PREPEND CMAKE_BUILD_RPATH "$ORIGIN/../lib")
add_link_options("LINKER:--disable-new-dtags")

get_filename_component(gp_cuda_root "${CMAKE_CUDA_COMPILER}" REALPATH)
get_filename_component(gp_cuda_root "${gp_cuda_root}/../.." ABSOLUTE)
set(gp_cuda_hints "${gp_cuda_root}" "${gp_cuda_root}/targets/x86_64-linux"
  "${gp_cuda_wheels}/nvidia/cudnn" "${gp_cuda_wheels}/nvidia/nccl" "${gp_cuda_wheels}")

# gp_cuda_header(variable header package): the folder that holds the header, or an error that says where it was looked for.
function(gp_cuda_header variable header package)
  find_path(${variable} ${header} HINTS ${gp_cuda_hints} PATH_SUFFIXES include)
  if(NOT ${variable})
    message(FATAL_ERROR "${header} of ${package} was not found beside ${CMAKE_CUDA_COMPILER}, in ${GP_CUDA_VENV} or in the "
                        "system's include folders: run scripts/bootstrap --cuda, or set ${variable} to its folder")
  endif()
endfunction()

# gp_cuda_library(target library header package): a shared library with its header.
function(gp_cuda_library target library header package)
  gp_cuda_header(GP_${library}_INCLUDE ${header} ${package})
  find_library(GP_${library}_LIBRARY ${library} HINTS ${gp_cuda_hints} PATH_SUFFIXES lib64 lib)
  if(NOT GP_${library}_LIBRARY)
    message(FATAL_ERROR "lib${library}.so of ${package} was not found beside ${CMAKE_CUDA_COMPILER} or in ${GP_CUDA_VENV}: "
                        "run scripts/bootstrap --cuda, or set GP_${library}_LIBRARY to its path")
  endif()
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${GP_${library}_LIBRARY}")
  target_include_directories(${target} SYSTEM INTERFACE "${GP_${library}_INCLUDE}")
endfunction()

gp_cuda_library(cuda::runtime cudart cuda_runtime.h "the CUDA runtime")
gp_cuda_library(cuda::cublas_lt cublasLt cublasLt.h cuBLAS)
gp_cuda_library(cuda::cudnn cudnn cudnn.h "cuDNN 9")
target_link_libraries(cuda::cublas_lt INTERFACE cuda::runtime)
target_link_libraries(cuda::cudnn INTERFACE cuda::runtime)
gp_cuda_header(GP_cudnn_frontend_INCLUDE cudnn_frontend.h cudnn-frontend)
target_include_directories(cuda::cudnn SYSTEM INTERFACE "${GP_cudnn_frontend_INCLUDE}")
gp_cuda_header(GP_nccl_INCLUDE nccl.h NCCL)
add_library(cuda::nccl INTERFACE IMPORTED GLOBAL)
target_include_directories(cuda::nccl SYSTEM INTERFACE "${GP_nccl_INCLUDE}")
target_link_libraries(cuda::nccl INTERFACE cuda::runtime ${CMAKE_DL_LIBS})
