# SPDX-License-Identifier: Apache-2.0
add_executable(capture_suite EXCLUDE_FROM_ALL capture_suite.c capture_job.c)
target_include_directories(capture_suite PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
target_compile_definitions(capture_suite PRIVATE TEST_BINARY_DIR="${CMAKE_BINARY_DIR}" TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(capture_suite PRIVATE portald_flags room_host room_frame room_base)
add_dependencies(capture_suite portald-plugin-host)
add_dependencies(all_tests capture_suite)
