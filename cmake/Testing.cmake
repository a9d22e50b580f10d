# gp_test(name LABEL unit SOURCES ... LIBRARIES ...): one GoogleTest program, registered case by case under its label and
# under its own name, so that `scripts/run_tests --labels base_test` runs that program.
# scripts/run_tests runs as many tests at once as there are cores, those with the longest timeout first. A benchmark (label
# bench) counts as two tests, so that on a machine with two cores it runs alone.
# gp_python_test(name script.py LABEL unit [ARGUMENTS ...]): one script as a test. Exit status 77 means skipped; its last
# line is the reason.
find_package(GTest REQUIRED)
include(GoogleTest)

# Targets for sanitizer runs. asan builds every unit test; tsan builds the unit tests of threaded code (GP_THREADED_FOLDERS),
# which also get the label `threads`. Debian's gRPC and LibTorch are not instrumented, so a test that links one would report
# false races. Neither is libprotobuf, whose reflection over map fields (gp_every_field) then crashes. Such tests are left
# out: of the engine's folders only tests that need no model remain. scripts/run_sanitizer reads both lists from the build
# tree.
add_custom_target(unit_tests)
add_custom_target(threads_tests)
file(WRITE "${CMAKE_BINARY_DIR}/unit_tests.txt" "")
file(WRITE "${CMAKE_BINARY_DIR}/threads_tests.txt" "")
# Tests that need a GPU, in a build with GP_CUDA; they skip with the reason on a machine without one.
# scripts/gpu_check reads their names from the build tree.
add_custom_target(gpu_tests)
file(WRITE "${CMAKE_BINARY_DIR}/gpu_tests.txt" "")
set(GP_THREADED_FOLDERS lib/base lib/tokenizer lib/corpus lib/contract coordinator worker/agent
  client/gateway worker/engine/backend/cuda/emulation worker/engine/collectives worker/engine/step worker/checkpoint
  worker/data worker/trainer)

function(gp_processors label result)
  if(label STREQUAL "bench")
    set(${result} 2 PARENT_SCOPE)
  else()
    set(${result} 1 PARENT_SCOPE)
  endif()
endfunction()

# Seconds. Long enough for a slow test on a busy machine: the timeout is for tests that hang.
function(gp_timeout label result)
  if(label STREQUAL "unit")
    set(${result} 300 PARENT_SCOPE)
  else()
    set(${result} 600 PARENT_SCOPE)
  endif()
endfunction()

function(gp_is_threads_test name result)
  set(${result} OFF PARENT_SCOPE)
  file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(threaded IN LISTS GP_THREADED_FOLDERS)
    if("${folder}/" MATCHES "^${threaded}/")
      set(${result} ON PARENT_SCOPE)
      foreach(foreign IN ITEMS gRPC::grpc++ torch::cpu gp_every_field)
        set(visited "")
        set(chain "")
        gp_link_chain(${name} ${foreign} visited chain "${name}")
        if(chain)
          set(${result} OFF PARENT_SCOPE)
        endif()
      endforeach()
      return()
    endif()
  endforeach()
endfunction()

function(gp_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    gp_timeout("${ARG_LABEL}" ARG_TIMEOUT)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main gp_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  set(labels "${ARG_LABEL}" ${name})
  if(ARG_LABEL STREQUAL "unit")
    add_dependencies(unit_tests ${name})
    file(APPEND "${CMAKE_BINARY_DIR}/unit_tests.txt" "${name}\n")
    gp_is_threads_test(${name} threads)
    if(threads)
      add_dependencies(threads_tests ${name})
      file(APPEND "${CMAKE_BINARY_DIR}/threads_tests.txt" "${name}\n")
      list(APPEND labels threads)
    endif()
  elseif(ARG_LABEL STREQUAL "gpu")
    add_dependencies(gpu_tests ${name})
    file(APPEND "${CMAKE_BINARY_DIR}/gpu_tests.txt" "${name}\n")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_LIST ${name}_cases)
  # gtest_discover_tests cannot take a property whose value is a list, so the properties are set by a file of their own.
  # OMP_WAIT_POLICY: threads of LibTorch that spin while they wait slow a busy machine down by minutes.
  set(environment "GP_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "GP_SOURCE=${CMAKE_SOURCE_DIR}" OMP_WAIT_POLICY=passive
    "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/thread_sanitizer.supp"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/leak_sanitizer.supp:print_suppressions=0" ${ARG_ENVIRONMENT})
  gp_processors("${ARG_LABEL}" processors)
  set(properties_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(WRITE "${properties_file}"
    "if(${name}_cases)\n"
    "  set_tests_properties(\${${name}_cases} PROPERTIES LABELS \"${labels}\" TIMEOUT ${ARG_TIMEOUT}\n"
    "    PROCESSORS ${processors} COST ${ARG_TIMEOUT}\n"
    "    ENVIRONMENT \"${environment}\")\n"
    "endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties_file}")
endfunction()

function(gp_python_test name script)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "ARGUMENTS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    gp_timeout("${ARG_LABEL}" ARG_TIMEOUT)
  endif()
  gp_processors("${ARG_LABEL}" processors)
  add_test(NAME ${name} COMMAND /usr/bin/python3 "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    PROCESSORS ${processors} COST ${ARG_TIMEOUT}
    ENVIRONMENT "GP_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};GP_SOURCE=${CMAKE_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
