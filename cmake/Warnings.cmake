# Warning flags of every gp target. Link `gp_warnings` PRIVATE.
add_library(gp_warnings INTERFACE)
target_compile_options(gp_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-missing-field-initializers;-Werror>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
  # g++ 12 reports these falsely inside libstdc++ and fmt at -O2.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-maybe-uninitialized;-Wno-dangling-pointer;-Wno-stringop-overflow;-Wno-array-bounds>
  # The host half of a .cu is nvcc's own C++, full of line directives that -Wpedantic would report.
  $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-Werror>)
