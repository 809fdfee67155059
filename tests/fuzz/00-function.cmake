# SPDX-License-Identifier: Apache-2.0
# portald_fuzz(NAME SOURCES... [ROOMS rooms...] [OWN files...]): a libFuzzer program fuzz_NAME, built where PORTALD_FUZZ is on.
#   ROOMS  the rooms that it links: base config ...
#   OWN    the sources, relative to the top, whose edges `tests/fuzz/run --coverage` counts
# Seeds lie in corpus/NAME; a dictionary, where there is one, is NAME.dict.
set_property(GLOBAL PROPERTY PORTALD_FUZZ_LIST "")
function(portald_fuzz name)
  cmake_parse_arguments(arg "" "" "ROOMS;OWN" ${ARGN})
  if(NOT PORTALD_FUZZ)
    return()
  endif()
  portald_fuzz_program(fuzz_${name} SOURCES ${arg_UNPARSED_ARGUMENTS} ROOMS ${arg_ROOMS})
  set_property(GLOBAL APPEND PROPERTY PORTALD_TEST_LIST "fuzz $<TARGET_FILE:fuzz_${name}>")
  list(JOIN arg_OWN " " own)
  set_property(GLOBAL APPEND PROPERTY PORTALD_FUZZ_LIST "${name} $<TARGET_FILE:fuzz_${name}> ${own}")
endfunction()

# The program alone, on no list. Further compile definitions are the caller's.
function(portald_fuzz_program target)
  cmake_parse_arguments(arg "" "" "SOURCES;ROOMS" ${ARGN})
  add_executable(${target} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_compile_definitions(${target} PRIVATE PORTALD_FUZZING=1)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/plugins/sdk)
  target_link_libraries(${target} PRIVATE portald_flags)
  foreach(room ${arg_ROOMS})
    target_link_libraries(${target} PRIVATE room_${room})
  endforeach()
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
endfunction()
