# SPDX-License-Identifier: Apache-2.0
# B-15: the world's random ledger lives, in memory and on the real store, as programs of the release build.
if(TARGET room_ledger)
  set(world ${CMAKE_SOURCE_DIR}/tests/world)
  add_executable(bench_ledger EXCLUDE_FROM_ALL ${world}/ledger_random_test.c ${world}/ledger_run.c ${world}/ledger_events.c ${world}/ledger_oracle.c)
  target_include_directories(bench_ledger PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
  target_link_libraries(bench_ledger PRIVATE room_ledger room_base portald_flags)
  add_executable(bench_ledger_store EXCLUDE_FROM_ALL ${world}/ledger_store_test.c ${world}/ledger_run.c ${world}/ledger_events.c ${world}/ledger_oracle.c)
  target_include_directories(bench_ledger_store PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
  target_link_libraries(bench_ledger_store PRIVATE room_store room_ledger room_spec room_base portald_flags)
  add_dependencies(all_benches bench_ledger bench_ledger_store)
endif()
