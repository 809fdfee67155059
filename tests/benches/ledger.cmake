# SPDX-License-Identifier: Apache-2.0
# B-15: the world's random ledger lives, as a program of the release build.
if(TARGET room_ledger)
  set(world ${CMAKE_SOURCE_DIR}/tests/world)
  add_executable(bench_ledger EXCLUDE_FROM_ALL ${world}/ledger_random_test.c ${world}/ledger_run.c ${world}/ledger_oracle.c)
  target_include_directories(bench_ledger PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
  target_link_libraries(bench_ledger PRIVATE room_ledger room_base portald_flags)
  add_dependencies(all_benches bench_ledger)
endif()
