# SPDX-License-Identifier: BSD-3-Clause
# The four functions with which a folder adds targets. Each folder is one library with its sources
# listed by hand.

# rocescope_library(dataplane_wire SOURCES a.cc HEADERS a.h DEPENDS rocescope::base fmt::fmt
#                   [ALONE a.cc])
# Creates the target rocescope_dataplane_wire with the alias rocescope::dataplane_wire: a static
# library, or an interface library without sources. ALONE lists sources that a unity build compiles on
# their own, because local names in them repeat those of other files.
function(rocescope_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPENDS;ALONE")
  _rocescope_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  set(target rocescope_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES} ${arg_HEADERS})
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE rocescope_warnings)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${arg_DEPENDS})
  endif()
  add_library(rocescope::${name} ALIAS ${target})
endfunction()

# Generated code is compiled without sanitizers, which triple its compile time.
set(ROCESCOPE_GENERATED_OPTIONS)
if(ROCESCOPE_SANITIZE MATCHES "address|undefined")
  set(ROCESCOPE_GENERATED_OPTIONS -fno-sanitize=all)
endif()

# rocescope_messages(appliance_api rocescope/v1/report.proto)
# Generates the messages of one .proto file below the current folder into the target rocescope_<name>
# with the alias rocescope::<name>. The headers count as system headers.
function(rocescope_messages name proto)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  string(REGEX REPLACE "[.]proto$" ".pb" generated ${out}/${proto})
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/rocescope/v1/*.proto)
  add_custom_command(
    OUTPUT ${generated}.cc ${generated}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out} ${proto}
    DEPENDS ${protos}
    VERBATIM)
  add_library(rocescope_${name} STATIC ${generated}.cc)
  target_include_directories(rocescope_${name} SYSTEM PUBLIC ${out})
  target_compile_options(rocescope_${name} PRIVATE ${ROCESCOPE_GENERATED_OPTIONS})
  target_link_libraries(rocescope_${name} PUBLIC protobuf::libprotobuf)
  add_library(rocescope::${name} ALIAS rocescope_${name})
endfunction()

# Test sources compile in two thirds of the time with -Og, with sanitizers in half of the time with -O0, and failures
# of tests name their line without debug information. The code under test is optimised.
set(ROCESCOPE_TEST_LINKER)
find_program(ROCESCOPE_GOLD ld.gold)  # twice as fast as the default linker; part of binutils
if(ROCESCOPE_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT ROCESCOPE_SANITIZE)
  set(ROCESCOPE_TEST_LINKER -fuse-ld=gold)
endif()
set(ROCESCOPE_TEST_OPTIONS $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Og;-g0>)
if(ROCESCOPE_SANITIZE)
  set(ROCESCOPE_TEST_OPTIONS -O0 -g0)
endif()

# Precompiles the headers that every test includes.
function(_rocescope_test_headers name)
  if(NOT TARGET rocescope_test_headers)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "")
    add_library(rocescope_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(rocescope_test_headers PRIVATE GTest::gtest_main GTest::gmock
                                                         rocescope_warnings)
    target_compile_options(rocescope_test_headers PRIVATE -pthread ${ROCESCOPE_TEST_OPTIONS})
    target_precompile_headers(rocescope_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  # -pthread, because some libraries require it, and its macros must match the precompiled headers.
  # With precompiled headers, g++ 12 no longer recognises warnings about std::string's own code.
  target_compile_options(${name} PRIVATE -pthread
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>)
  target_precompile_headers(${name} REUSE_FROM rocescope_test_headers)
endfunction()

# rocescope_test(base_test SOURCES address_test.cc DEPENDS rocescope::base [LABEL fast|slow] [ALONE a_test.cc])
# A GoogleTest program, which is one test of ctest: starting a process takes longer than most tests.
# ALONE as above.
function(rocescope_test name)
  if(NOT ROCESCOPE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;DEPENDS;ALONE")
  _rocescope_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main GTest::gmock
                                        rocescope_warnings)
  target_compile_options(${name} PRIVATE ${ROCESCOPE_TEST_OPTIONS})
  target_link_options(${name} PRIVATE ${ROCESCOPE_TEST_LINKER})
  if(NOT "PkgConfig::DPDK" IN_LIST arg_DEPENDS)  # which requires another instruction set
    _rocescope_test_headers(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set(timeout 900)
  if(arg_LABEL STREQUAL "fast" AND NOT ROCESCOPE_SANITIZE)
    set(timeout 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${timeout})
endfunction()

# rocescope_fuzz(fuzz_frame SOURCES frame_fuzz.cc CORPUS <folder> DEPENDS ... [MAX_LENGTH bytes])
# A libFuzzer program. ctest replays the corpus with the label `fuzz`. The corpus requires a dictionary
# of the same name (tests/fuzz/make_dictionaries). Writes fuzz/<name>.json, which tests/fuzz/campaign
# reads. Requires ROCESCOPE_FUZZ.
function(rocescope_fuzz name)
  if(NOT ROCESCOPE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS;MAX_LENGTH" "SOURCES;DEPENDS")
  _rocescope_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_CORPUS OR NOT IS_DIRECTORY "${arg_CORPUS}")
    message(FATAL_ERROR "rocescope_fuzz(${name}): CORPUS \"${arg_CORPUS}\" is not a directory; "
                        "make it and put at least one seed there")
  endif()
  get_filename_component(format ${arg_CORPUS} NAME)
  set(dictionary ${PROJECT_SOURCE_DIR}/tests/fuzz/dictionaries/${format}.dict)
  if(NOT EXISTS ${dictionary})
    message(FATAL_ERROR "rocescope_fuzz(${name}): ${dictionary} does not exist; add \"${format}\" to "
                        "tests/fuzz/make_dictionaries and run it")
  endif()
  if(NOT arg_MAX_LENGTH)
    set(arg_MAX_LENGTH 65536)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} rocescope_warnings)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  add_test(NAME ${name} COMMAND ${name} -runs=0 -timeout=20 -rss_limit_mb=2048
                                -max_len=${arg_MAX_LENGTH} -dict=${dictionary} ${arg_CORPUS})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 300)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzz/${name}.json CONTENT
"{\"name\": \"${name}\", \"program\": \"$<TARGET_FILE:${name}>\", \"corpus\": \"${arg_CORPUS}\",
 \"dictionary\": \"${dictionary}\", \"max_length\": ${arg_MAX_LENGTH}}
")
endfunction()

# rocescope_benchmark(bench_decode SOURCES decode_bench.cc DEPENDS ...)
# A Google Benchmark program, part of the target `benchmarks`. Requires ROCESCOPE_BENCHMARKS. ctest runs
# it with the label `perf`, which no preset includes. The run only checks that it works and is too short
# for measurements.
function(rocescope_benchmark name)
  if(NOT ROCESCOPE_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  _rocescope_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  add_dependencies(benchmarks ${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} benchmark::benchmark_main
                                        rocescope_warnings)
  add_test(NAME ${name} COMMAND ${name} --benchmark_min_time=0.01)
  set_tests_properties(${name} PROPERTIES LABELS perf TIMEOUT 300)
endfunction()

# A folder without a CMakeLists.txt is probably misspelt, and its tests would silently be missing.
function(rocescope_add_folders)
  foreach(folder IN LISTS ARGN)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${folder} has no CMakeLists.txt")
    endif()
    add_subdirectory(${folder})
  endforeach()
endfunction()

function(_rocescope_refuse_unknown name arguments)
  if(arguments)
    message(FATAL_ERROR "${name}: unknown arguments: ${arguments}")
  endif()
endfunction()
