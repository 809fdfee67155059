# SPDX-License-Identifier: Apache-2.0
set(replay ${CMAKE_SOURCE_DIR}/tests/lib/replay)
portald_test(test_replay unit ${CMAKE_CURRENT_LIST_DIR}/replay_test.c ${replay}/run.c ${replay}/rivals.c ${replay}/agent.c ${replay}/free.c ${replay}/bound.c ${replay}/load.c)
if(TARGET test_replay)
  target_link_libraries(test_replay PRIVATE room_policy room_placement room_spec room_base)
endif()
