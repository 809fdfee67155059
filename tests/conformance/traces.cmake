# SPDX-License-Identifier: Apache-2.0
add_executable(trace_check EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/trace_check.c)
target_link_libraries(trace_check PRIVATE portald_flags provider_sim)
add_dependencies(all_tests trace_check)
