# `cmake --install` gives a tree that can be moved anywhere: programs in bin/, LibTorch's libraries in lib/gp/ found
# through $ORIGIN, settings and run files in share/gp/.
# Each part is a component, from which cmake/Packages.cmake makes a package.
foreach(program IN LISTS GP_PROGRAMS)
  if(TARGET ${program})
    set(component ${program})
    if(program IN_LIST GP_ENGINE_PROGRAMS)
      set(component gp-engine)
    endif()
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${component})
  endif()
endforeach()

# The programs for GPUs load the toolkit's libraries from the folders where this build found them. These libraries are not
# installed.
if(GP_CUDA)
  install(TARGETS gp_cuda_kernels LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/gp" COMPONENT gp-engine-cuda)
  get_filename_component(cuda_folder "${GP_cublasLt_LIBRARY}" DIRECTORY)
  get_filename_component(cudnn_folder "${GP_cudnn_LIBRARY}" DIRECTORY)
  foreach(program IN LISTS GP_CUDA_PROGRAMS)
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT gp-engine-cuda)
      set_target_properties(${program} PROPERTIES
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/gp;${cuda_folder};${cudnn_folder}")
    endif()
  endforeach()
endif()

if(GP_ENGINE)
  # libtorch_cpu.so and its dependencies. Its own RPATH ends in $ORIGIN, so it finds them in the same folder.
  file(GLOB engine_libraries
    "${torch_root}/lib/libtorch_cpu.so" "${torch_root}/lib/libc10.so" "${torch_root}/lib/libgomp*.so*"
    "${torch_root}/../nvidia/cu13/lib/libcudart.so.*" "${torch_root}/../nvidia/cu13/lib/libcupti.so.*")
  install(PROGRAMS ${engine_libraries} DESTINATION "${CMAKE_INSTALL_LIBDIR}/gp" COMPONENT gp-engine)
endif()

install(DIRECTORY configs deploy DESTINATION "${CMAKE_INSTALL_DATADIR}/gp" COMPONENT gpctl)
install(FILES LICENSE THIRD_PARTY_NOTICES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT gpctl)
