# Precompiled headers hold what others wrote: the standard library, fmt, Abseil, nlohmann-json, gRPC, GoogleTest. Each target gets the set that
# fits what it links, so a new target needs no line of its own. Our own headers stay out: an edit to one rebuilds what includes it.
# The sources still name every header that they use: clang reads them without these sets (scripts/check_thread_safety).
option(GP_PRECOMPILED_HEADERS "Compile third-party headers once for each set" ON)

set(gp_standard
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque> <filesystem>
  <functional> <initializer_list> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional> <ostream> <random> <set>
  <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant>
  <vector>)
set(gp_status <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h> <nlohmann/json.hpp>)
set(gp_rpc
  <google/protobuf/message.h> <google/protobuf/timestamp.pb.h> <google/protobuf/map_field.h> <grpcpp/grpcpp.h> <grpcpp/support/server_callback.h>
  <grpcpp/impl/codegen/proto_utils.h>)

# gp_header_set(name LIBRARIES ... HEADERS ...): a target that compiles the headers, and <name>_test with GoogleTest's besides.
function(gp_header_set name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS" ${ARGN})
  set(source "${CMAKE_BINARY_DIR}/precompiled.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Compiled for its precompiled headers alone.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} gp_warnings)
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  if(GP_TESTS)
    add_library(${name}_test OBJECT EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${name}_test PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock gp_warnings)
    target_precompile_headers(${name}_test PRIVATE ${ARG_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endfunction()

# Everything that `target` links, directly or not. Remembered for each target: many share the same libraries.
function(gp_linked target result)
  get_property(known GLOBAL PROPERTY "gp_linked_${target}" SET)
  if(NOT known)
    set(linked "")
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(libraries "${target}" ${property})
      foreach(library IN LISTS libraries)
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
        if(TARGET "${library}" AND NOT library IN_LIST linked)
          gp_linked("${library}" below)
          list(APPEND linked "${library}" ${below})
        endif()
      endforeach()
    endforeach()
    list(REMOVE_DUPLICATES linked)
    set_property(GLOBAL PROPERTY "gp_linked_${target}" "${linked}")
  endif()
  get_property(linked GLOBAL PROPERTY "gp_linked_${target}")
  set(${result} "${linked}" PARENT_SCOPE)
endfunction()

# Sources with flags of their own cannot use headers that were compiled without them.
function(gp_skip_flagged_sources target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    get_source_file_property(flags "${source}" DIRECTORY "${folder}" COMPILE_OPTIONS)
    if(flags)
      set_source_files_properties("${source}" DIRECTORY "${folder}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(gp_precompile target)
  get_target_property(type ${target} TYPE)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  # Generated code is compiled without our warnings, and -Wpedantic changes what g++ defines.
  if(NOT type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|EXECUTABLE)$" OR NOT gp_warnings IN_LIST libraries)
    return()
  endif()
  gp_linked(${target} linked)
  if(gRPC::grpc++ IN_LIST linked)
    set(name gp_rpc_headers)
  elseif(fmt::fmt IN_LIST linked)
    set(name gp_status_headers)
  else()
    set(name gp_standard_headers)
  endif()
  if(GTest::gtest IN_LIST linked)
    string(APPEND name _test)
  endif()
  gp_skip_flagged_sources(${target})
  target_precompile_headers(${target} REUSE_FROM ${name})
  # ccache preprocesses what it has not seen; this keeps the headers out of that.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

function(gp_precompile_folder folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    gp_precompile(${target})
  endforeach()
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    gp_precompile_folder("${subfolder}")
  endforeach()
endfunction()

# Called once, after the last target.
function(gp_precompile_all)
  if(NOT GP_PRECOMPILED_HEADERS)
    return()
  endif()
  gp_header_set(gp_standard_headers HEADERS ${gp_standard})
  gp_header_set(gp_status_headers
    LIBRARIES absl::status absl::statusor fmt::fmt HEADERS ${gp_standard} ${gp_status})
  gp_header_set(gp_rpc_headers
    LIBRARIES absl::status absl::statusor fmt::fmt gRPC::grpc++ protobuf::libprotobuf
    HEADERS ${gp_standard} ${gp_status} ${gp_rpc})
  gp_precompile_folder("${CMAKE_SOURCE_DIR}")
endfunction()
