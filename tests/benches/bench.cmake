# SPDX-License-Identifier: Apache-2.0
# Programs that tests/bench runs; build them with the target all_benches, in a release build.
add_custom_target(all_benches)
foreach(part floors http_load store_load)
  add_executable(bench_${part} EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/${part}.c)
  target_link_libraries(bench_${part} PRIVATE portald_flags)
  add_dependencies(all_benches bench_${part})
endforeach()
target_link_libraries(bench_store_load PRIVATE room_store room_ledger room_spec room_base)

if(TARGET room_market)
  add_executable(bench_market_load EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/market_load.c)
  target_link_libraries(bench_market_load PRIVATE room_market room_policy room_spec room_base portald_flags)
  add_dependencies(all_benches bench_market_load)
endif()
