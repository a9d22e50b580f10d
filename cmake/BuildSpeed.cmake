# Makes builds fast: precompiled headers, sources compiled together, full optimization only where it counts. At the end of
# the configure step gp_build_fast processes every target that links gp_warnings (generated code does not), so a new target
# needs nothing else.
#
# Only third-party headers are precompiled: the standard library, fmt, Abseil, gRPC, GoogleTest. Each target gets the set
# that fits the libraries it links. Our own headers are not in it, because an edit to one would rebuild everything.
# nlohmann-json is not in it either: it would cost each source 0.4 s, and only one in ten uses it. Sources still include
# every header that they use.
option(GP_PRECOMPILED_HEADERS "Compile third-party headers once for each set" ON)

# The sources of one target are compiled together, in groups of about this many bytes (a unity build), so that headers are
# parsed and templates instantiated once per group. An edit recompiles the whole group, so a group must take seconds, not
# minutes.
# Names in an anonymous namespace must therefore be unique within their target.
set(GP_UNITY_BYTES 20000 CACHE STRING "Bytes of source compiled together; 0 compiles each source alone")

# Compiled with the preset's -O2: the engine and the libraries on its data path. The rest mostly waits for sockets, disks and
# people, so a Release build compiles it with -O1, which takes two thirds of the time.
set(GP_OPTIMIZED_FOLDERS
  lib/base lib/formats lib/tokenizer lib/corpus lib/interop
  worker/engine worker/checkpoint worker/data worker/trainer worker/sampler worker/evaluator worker/bench)

set(gp_standard
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque> <filesystem>
  <functional> <initializer_list> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional> <ostream> <random> <set>
  <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant>
  <vector>)
set(gp_status <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h>)
set(gp_rpc
  <google/protobuf/message.h> <google/protobuf/timestamp.pb.h> <google/protobuf/map_field.h>
  <grpcpp/grpcpp.h> <grpcpp/support/server_callback.h> <grpcpp/impl/codegen/proto_utils.h>)

# gp_header_set(name LIBRARIES ... HEADERS ...): makes the target `name`, which precompiles the headers, and <name>_test, which
# adds GoogleTest's headers.
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

# Sets `result` to all libraries that `target` links, directly or not. Cached for each target, because many targets share the
# same libraries.
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

# Divides the sources of a target into `united`, which are compiled in groups, and `alone`: generated sources, those that are
# not .cc, those with SKIP_UNITY_BUILD_INCLUSION, and those with flags of their own, which cannot use headers that were
# precompiled without these flags.
function(gp_split_sources target united alone)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(united_sources "")
  set(alone_sources "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    get_source_file_property(flags "${source}" DIRECTORY "${folder}" COMPILE_OPTIONS)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${source}" generated)
    get_source_file_property(apart "${source}" DIRECTORY "${folder}" SKIP_UNITY_BUILD_INCLUSION)
    if(flags)
      set_source_files_properties("${source}" DIRECTORY "${folder}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      list(APPEND alone_sources "${source}")
    elseif(apart OR generated OR NOT source MATCHES "\\.cc$")
      list(APPEND alone_sources "${source}")
    else()
      list(APPEND united_sources "${source}")
    endif()
  endforeach()
  set(${united} "${united_sources}" PARENT_SCOPE)
  set(${alone} "${alone_sources}" PARENT_SCOPE)
endfunction()

# Sets `result` to a generated file that includes `sources`, or to the source itself if there is only one. Paths are relative
# to the project, so that ccache also has hits in another clone.
function(gp_unity_source target number sources result)
  list(LENGTH sources count)
  if(count LESS 2)
    set(${result} "${sources}" PARENT_SCOPE)
    return()
  endif()
  set(text "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  get_target_property(folder ${target} SOURCE_DIR)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set(file "${CMAKE_BINARY_DIR}/unity/${folder}/${target}_${number}.cc")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${text}")
  set(${result} "${file}" PARENT_SCOPE)
endfunction()

# Replaces the `sources` of the target by files that include them, group by group.
function(gp_unite target sources alone)
  set(united "")
  set(group "")
  set(group_bytes 0)
  set(number 0)
  foreach(source IN LISTS sources)
    file(SIZE "${source}" bytes)
    math(EXPR group_bytes "${group_bytes} + ${bytes}")
    if(group AND group_bytes GREATER GP_UNITY_BYTES)
      gp_unity_source(${target} ${number} "${group}" file)
      list(APPEND united "${file}")
      math(EXPR number "${number} + 1")
      set(group "")
      set(group_bytes ${bytes})
    endif()
    list(APPEND group "${source}")
  endforeach()
  gp_unity_source(${target} ${number} "${group}" file)
  set_property(TARGET ${target} PROPERTY SOURCES ${united} ${file} ${alone})
endfunction()

# Whether a target is compiled with -O2: its folder is one of GP_OPTIMIZED_FOLDERS. A static library of tests is treated like
# the folder that it mirrors.
function(gp_is_optimized target result)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(type ${target} TYPE)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
  if(type STREQUAL "STATIC_LIBRARY")
    string(REGEX REPLACE "^tests/" "" folder "${folder}")
  endif()
  set(${result} OFF PARENT_SCOPE)
  foreach(optimized IN LISTS GP_OPTIMIZED_FOLDERS)
    if("${folder}/" MATCHES "^${optimized}/")
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(gp_build_target_fast target)
  get_target_property(type ${target} TYPE)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  # Skip generated code, which does not link gp_warnings: it is compiled without -Wpedantic, which changes macros that g++
  # predefines, so it cannot use the precompiled headers.
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
  gp_split_sources(${target} united alone)
  if(GP_UNITY_BYTES GREATER 0)
    gp_unite(${target} "${united}" "${alone}")
  endif()
  gp_is_optimized(${target} optimized)
  if(NOT optimized)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
  if(GP_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${name})
    # ccache preprocesses sources that it has not seen before; with this flag it does not expand the precompiled headers.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endfunction()

function(gp_build_folder_fast folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    gp_build_target_fast(${target})
  endforeach()
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    gp_build_folder_fast("${subfolder}")
  endforeach()
endfunction()

# Called once, after the last target.
function(gp_build_fast)
  if(GP_PRECOMPILED_HEADERS)
    gp_header_set(gp_standard_headers HEADERS ${gp_standard})
    gp_header_set(gp_status_headers
      LIBRARIES absl::status absl::statusor fmt::fmt HEADERS ${gp_standard} ${gp_status})
    gp_header_set(gp_rpc_headers
      LIBRARIES absl::status absl::statusor fmt::fmt gRPC::grpc++ protobuf::libprotobuf
      HEADERS ${gp_standard} ${gp_status} ${gp_rpc})
  endif()
  gp_build_folder_fast("${CMAKE_SOURCE_DIR}")
endfunction()
