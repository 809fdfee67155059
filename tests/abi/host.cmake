# SPDX-License-Identifier: Apache-2.0
# Plugins that only tests load: built like a stranger's, against the SDK and nothing else.
function(abi_plugin name)
  cmake_parse_arguments(arg "NO_SYMBOL_MAP" "" "SOURCES;DEFINES;INCLUDES" ${ARGN})
  add_library(abi_${name} MODULE EXCLUDE_FROM_ALL ${arg_SOURCES})
  if(NOT arg_INCLUDES)
    set(arg_INCLUDES ${CMAKE_SOURCE_DIR}/plugins/sdk)
  endif()
  target_include_directories(abi_${name} PRIVATE ${arg_INCLUDES})
  target_compile_definitions(abi_${name} PRIVATE ${arg_DEFINES})
  target_link_libraries(abi_${name} PRIVATE portald_flags)
  set_target_properties(abi_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins)
endfunction()

abi_plugin(odd SOURCES ${CMAKE_CURRENT_LIST_DIR}/odd.c)
abi_plugin(odd-concurrent SOURCES ${CMAKE_CURRENT_LIST_DIR}/odd.c DEFINES ODD_CONCURRENT)
abi_plugin(odd-bare SOURCES ${CMAKE_CURRENT_LIST_DIR}/odd.c DEFINES ODD_BARE)

portald_test(abi_isolation_test abi ${CMAKE_CURRENT_LIST_DIR}/isolation_test.c)
target_link_libraries(abi_isolation_test PRIVATE room_host room_frame room_base)
add_dependencies(abi_isolation_test portald-plugin-host abi_odd abi_odd-concurrent abi_odd-bare)
