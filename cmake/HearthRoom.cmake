# The rooms and their layers.
#
#   hearth_room(<name> [APART] SOURCES a.cpp ... [TESTS a_test.cpp ...] [USES room ...] [LINKS target ...]
#               [TEST_USES room ...] [TEST_LINKS target ...])
# makes the static library hearth_<name> and, of TESTS, one GoogleTest executable <name>_test that ctest runs. USES names
# the rooms it may include; a room that the layer order forbids is rejected here. Tests may use any room (TEST_USES).
# APART: each of the sources is compiled alone.
#
#   hearth_tool(<name> SOURCES ... [USES room ...] [LINKS target ...])
# makes an executable in build/<preset>/bin. It may use the rooms that its folder's room may, and that room itself.
#
#   hearth_fuzzer(<name> SOURCES ... [USES room ...] [LINKS target ...])
# makes fuzz_<name> from a file that defines LLVMFuzzerTestOneInput: with libFuzzer in the fuzz preset, elsewhere with a
# main that runs every file of fuzz/corpus/<name>/ beside the CMakeLists.txt, registered as the test fuzz_<name>.

# The layer order: HEARTH_ROOM_<name> lists the rooms that <name> may use directly; what those may use, it may use too.
# scripts/check_includes.py reads these lines and holds every #include against them.
set(HEARTH_ROOM_support "")
set(HEARTH_ROOM_operators support)
set(HEARTH_ROOM_ir operators)
set(HEARTH_ROOM_definitions ir)
set(HEARTH_ROOM_module ir)
set(HEARTH_ROOM_frontend module definitions)
set(HEARTH_ROOM_archive frontend)
set(HEARTH_ROOM_analysis module definitions)
set(HEARTH_ROOM_weights operators)
set(HEARTH_ROOM_compiler analysis weights)
set(HEARTH_ROOM_graph_edits analysis)
set(HEARTH_ROOM_passes compiler graph_edits)
set(HEARTH_ROOM_tools passes frontend)
set(HEARTH_ROOM_interpreter analysis)
set(HEARTH_ROOM_state_order interpreter)
set(HEARTH_ROOM_device support)
set(HEARTH_ROOM_executor state_order interpreter passes module device)
set(HEARTH_ROOM_profile_store executor archive)
set(HEARTH_ROOM_runtime profile_store)
set(HEARTH_ROOM_proto "")
set(HEARTH_ROOM_wire support proto)
set(HEARTH_ROOM_telemetry support proto)
set(HEARTH_ROOM_security support)
set(HEARTH_ROOM_http security)
set(HEARTH_ROOM_repository runtime telemetry wire security)
set(HEARTH_ROOM_scheduling repository)
set(HEARTH_ROOM_api scheduling wire)
set(HEARTH_ROOM_rest api http)
set(HEARTH_ROOM_server rest)
set(HEARTH_ROOM_cli runtime wire)
set(HEARTH_ROOM_benchmarks server cli)

# The rooms that `room` may use, with what those may use.
function(hearth_allowed_rooms room out)
  set(found)
  set(open ${HEARTH_ROOM_${room}})
  while(open)
    list(POP_FRONT open next)
    if(NOT next IN_LIST found)
      list(APPEND found ${next})
      list(APPEND open ${HEARTH_ROOM_${next}})
    endif()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(hearth_check_uses user room)
  if(NOT DEFINED HEARTH_ROOM_${room})
    message(FATAL_ERROR "${room} is not a room of cmake/HearthRoom.cmake.")
  endif()
  hearth_allowed_rooms(${room} allowed)
  if(NOT user STREQUAL room)
    list(APPEND allowed ${room})
  endif()
  foreach(used IN LISTS ARGN)
    if(NOT used IN_LIST allowed)
      message(FATAL_ERROR "${user} may not use the room ${used}: the layers (cmake/HearthRoom.cmake) allow ${room} only: ${allowed}.")
    endif()
  endforeach()
endfunction()

# The room whose folder a CMakeLists.txt stands in.
function(hearth_room_of_folder folder out)
  file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${folder})
  if(relative STREQUAL "jit")
    set(room runtime)
  elseif(relative MATCHES "^(jit|server)/([^/]+)")
    set(room ${CMAKE_MATCH_2})
  else()
    string(REGEX REPLACE "/.*" "" room ${relative})
  endif()
  set(${out} ${room} PARENT_SCOPE)
endfunction()

function(hearth_target_defaults target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_precompile_headers(${target} REUSE_FROM hearth_pch)
endfunction()

# Most of a file's compilation goes to LibTorch's, gRPC's or GoogleTest's headers, so several are compiled at once. Names
# without linkage must then differ between the files of a target (scripts/check_names.py).
option(HEARTH_COMPILE_TOGETHER "Compile several files of a room at once" ON)
function(hearth_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEARTH_COMPILE_TOGETHER} UNITY_BUILD_BATCH_SIZE 4)
endfunction()

function(hearth_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "APART" "" "SOURCES;TESTS;USES;LINKS;TEST_USES;TEST_LINKS")
  hearth_check_uses(${name} ${name} ${ROOM_USES})
  list(TRANSFORM ROOM_USES PREPEND hearth_)
  list(TRANSFORM ROOM_TEST_USES PREPEND hearth_)

  add_library(hearth_${name} STATIC ${ROOM_SOURCES})
  hearth_target_defaults(hearth_${name})
  target_link_libraries(hearth_${name} PUBLIC ${ROOM_USES} ${ROOM_LINKS} hearth_torch Threads::Threads)
  if(NOT ROOM_APART)
    hearth_compile_together(hearth_${name})
  endif()

  if(ROOM_TESTS AND NOT HEARTH_FUZZ)
    add_executable(${name}_test ${ROOM_TESTS})
    hearth_target_defaults(${name}_test)
    hearth_compile_together(${name}_test)
    target_link_libraries(${name}_test PRIVATE
      hearth_${name} ${ROOM_TEST_USES} ${ROOM_TEST_LINKS} GTest::gmock GTest::gtest_main)
    add_test(NAME ${name}_test COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

function(hearth_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 TOOL "" "" "SOURCES;USES;LINKS")
  hearth_room_of_folder(${CMAKE_CURRENT_SOURCE_DIR} room)
  hearth_check_uses("the tool ${name}" ${room} ${TOOL_USES})
  list(TRANSFORM TOOL_USES PREPEND hearth_)
  add_executable(${name} ${TOOL_SOURCES})
  hearth_target_defaults(${name})
  target_link_libraries(${name} PRIVATE ${TOOL_USES} ${TOOL_LINKS} hearth_torch Threads::Threads)
endfunction()

if(NOT TARGET fuzzers AND NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(fuzzers)
endif()

function(hearth_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 FUZZ "" "" "SOURCES;USES;LINKS")
  hearth_room_of_folder(${CMAKE_CURRENT_SOURCE_DIR} room)
  hearth_check_uses("the fuzzer ${name}" ${room} ${FUZZ_USES})
  list(TRANSFORM FUZZ_USES PREPEND hearth_)
  add_executable(fuzz_${name} ${FUZZ_SOURCES})
  hearth_target_defaults(fuzz_${name})
  target_link_libraries(fuzz_${name} PRIVATE ${FUZZ_USES} ${FUZZ_LINKS} hearth_torch Threads::Threads)
  add_dependencies(fuzzers fuzz_${name})
  if(HEARTH_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cpp)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
