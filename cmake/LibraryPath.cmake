# gp_pin_libraries(program...): makes the programs load the system's libraries that they were built with, whatever
# LD_LIBRARY_PATH contains: in a conda environment it has another libstdc++ and OpenSSL, on a cluster perhaps another gRPC.
# DT_RPATH, the old tag, is searched before LD_LIBRARY_PATH, and also for the dependencies of libraries.
# Not for programs that use a GPU: the driver's libraries are in the same folder as the system's, and LD_LIBRARY_PATH may
# have a newer driver (CUDA's forward compatibility). gp-worker itself searches LD_LIBRARY_PATH for NVML.
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.so.6
  OUTPUT_VARIABLE gp_standard_library OUTPUT_STRIP_TRAILING_WHITESPACE)
set(gp_system_libraries "")
foreach(library IN ITEMS "${gp_standard_library}" "${OPENSSL_CRYPTO_LIBRARY}")
  if(IS_ABSOLUTE "${library}")
    get_filename_component(folder "${library}" DIRECTORY)
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND gp_system_libraries "${folder}")
  endif()
endforeach()
list(REMOVE_DUPLICATES gp_system_libraries)

function(gp_pin_libraries)
  foreach(program IN LISTS ARGN)
    if(NOT TARGET ${program})
      continue()
    endif()
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
    if(program IN_LIST GP_ENGINE_PROGRAMS)
      # LibTorch first: a distribution may have one of its own among the system's libraries.
      set_property(TARGET ${program} APPEND PROPERTY BUILD_RPATH "${torch_root}/lib" ${gp_system_libraries})
      set_property(TARGET ${program} PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/gp" ${gp_system_libraries})
    else()
      # Link with the final path. If CMake replaced the path at installation, it would pad the build path with ':', and an
      # empty entry means the working directory.
      set_property(TARGET ${program} PROPERTY BUILD_WITH_INSTALL_RPATH ON)
      set_property(TARGET ${program} PROPERTY INSTALL_RPATH ${CMAKE_BUILD_RPATH} ${gp_system_libraries})
    endif()
  endforeach()
endfunction()
