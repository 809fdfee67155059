# SPDX-License-Identifier: Apache-2.0
# B-16: seeds of the simulated world, as tests/world runs them.
set(world ${CMAKE_SOURCE_DIR}/tests/world)
add_executable(bench_world EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/world_load.c ${world}/pool.c ${world}/swarm.c ${world}/swarm_site.c
  ${world}/swarm_users.c ${world}/oracle.c ${world}/oracle_cloud.c ${world}/oracle_runner.c)
target_include_directories(bench_world PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(bench_world PRIVATE ${SIMULATE_ROOMS} portald_flags)
add_dependencies(all_benches bench_world)
