# Warning flags of every gp target. Link `gp_warnings` PRIVATE.
add_library(gp_warnings INTERFACE)
target_compile_options(gp_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 reports these falsely inside libstdc++ and fmt at -O2.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized;-Wno-dangling-pointer;-Wno-stringop-overflow;-Wno-array-bounds>)
