# gp_test(name LABEL unit SOURCES ... LIBRARIES ...): one GoogleTest program, registered case by case under its label.
# gp_python_test(name script.py LABEL unit [ARGUMENTS ...]): one script; exit status 77 skips, its last line is the reason.
find_package(GTest REQUIRED)
include(GoogleTest)

function(gp_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main gp_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gtest_discover_tests(${name}
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
               ENVIRONMENT "GP_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};GP_SOURCE=${CMAKE_SOURCE_DIR};${ARG_ENVIRONMENT}")
endfunction()

function(gp_python_test name script)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "ARGUMENTS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND /usr/bin/python3 "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "GP_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};GP_SOURCE=${CMAKE_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
