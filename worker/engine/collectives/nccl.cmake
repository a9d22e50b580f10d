# The sources of the communicator between GPUs, listed once for two libraries: gp_nccl compiles them
# against the toolkit, gp_nccl_emulated (in tests/) against the emulation and a stand-in for NCCL's
# header.
set(GP_NCCL_SOURCES
  nccl_api.cc
  nccl_communicator.cc
  nccl_connection.cc
  nccl_device_group.cc
  nccl_tree.cc)
list(TRANSFORM GP_NCCL_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
# Another library may define the same functions for a program, so this file stays an object of its own.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/nccl_device_group.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
