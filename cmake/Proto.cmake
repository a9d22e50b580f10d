# gp_proto_library(NAME target PROTOS a.proto... [GRPC service]): generates and compiles protobuf code; with GRPC a second
# target `service` holds the gRPC stubs, so that code that only needs the messages does not link gRPC. Paths are relative to
# proto/, which is also the include root: #include "gp/v1/run.pb.h".
function(gp_proto_library)
  cmake_parse_arguments(ARG "" "NAME;GRPC" "PROTOS" ${ARGN})
  set(root "${CMAKE_SOURCE_DIR}/proto")
  set(out "${CMAKE_BINARY_DIR}/proto")
  file(MAKE_DIRECTORY "${out}")
  set(sources "")
  set(service_sources "")
  foreach(proto IN LISTS ARG_PROTOS)
    string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
    set(generated "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
    set(plugin "")
    if(ARG_GRPC)
      list(APPEND generated "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.grpc.pb.h")
      list(APPEND service_sources "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.grpc.pb.h")
      set(plugin --grpc_out=${out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(
      OUTPUT ${generated}
      COMMAND protobuf::protoc -I${root} --cpp_out=${out} ${plugin} ${root}/${proto}
      DEPENDS ${root}/${proto}
      VERBATIM)
    list(APPEND sources "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
  endforeach()
  add_library(${ARG_NAME} STATIC ${sources})
  target_include_directories(${ARG_NAME} SYSTEM PUBLIC "${out}")
  target_link_libraries(${ARG_NAME} PUBLIC protobuf::libprotobuf)
  if(ARG_GRPC)
    add_library(${ARG_GRPC} STATIC ${service_sources})
    target_link_libraries(${ARG_GRPC} PUBLIC ${ARG_NAME} gRPC::grpc++)
  endif()
endfunction()
