# SPDX-License-Identifier: Apache-2.0
# The suites take a plugin and its configuration; the tests that run them are scripts (*.test), one a plugin.
foreach(kind provider vault billing)
  add_executable(${kind}_suite EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/${kind}_suite.c)
  target_include_directories(${kind}_suite PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
  target_compile_definitions(${kind}_suite PRIVATE TEST_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${kind}_suite PRIVATE portald_flags room_host room_frame room_base)
  add_dependencies(${kind}_suite portald-plugin-host)
  add_dependencies(all_tests ${kind}_suite)
endforeach()
