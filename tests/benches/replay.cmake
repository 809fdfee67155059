# SPDX-License-Identifier: Apache-2.0
# B-14: rivals, portald and the optima on windows of real spot availability.
set(replay ${CMAKE_SOURCE_DIR}/tests/lib/replay)
add_executable(bench_replay EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/replay_load.c ${replay}/run.c ${replay}/rivals.c ${replay}/agent.c ${replay}/free.c ${replay}/bound.c ${replay}/load.c)
target_include_directories(bench_replay PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib)
target_link_libraries(bench_replay PRIVATE room_policy room_placement room_spec room_base portald_flags)
add_dependencies(all_benches bench_replay)
