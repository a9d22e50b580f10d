# gp_pin_libraries(program...): the programs load the system's libraries that they were built with, whatever LD_LIBRARY_PATH
# names: in a conda environment another libstdc++ and OpenSSL, on a cluster perhaps another gRPC. DT_RPATH, the old tag, comes
# before LD_LIBRARY_PATH, and holds for the libraries that those load, too.
# Not for the programs that use a GPU: the driver's libraries lie in the same folder as the system's, and LD_LIBRARY_PATH may
# name a newer driver (CUDA's forward compatibility). gp-worker looks there for NVML itself.
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
      # A path that is replaced when the program is installed would end in ':', which means the working directory.
      set_property(TARGET ${program} PROPERTY BUILD_WITH_INSTALL_RPATH ON)
      set_property(TARGET ${program} PROPERTY INSTALL_RPATH ${CMAKE_BUILD_RPATH} ${gp_system_libraries})
    endif()
  endforeach()
endfunction()
