# SPDX-License-Identifier: Apache-2.0
portald_test(world_ledger_random_test world ${CMAKE_CURRENT_LIST_DIR}/ledger_random_test.c
  ${CMAKE_CURRENT_LIST_DIR}/ledger_run.c ${CMAKE_CURRENT_LIST_DIR}/ledger_events.c ${CMAKE_CURRENT_LIST_DIR}/ledger_oracle.c)
if(TARGET world_ledger_random_test)
  target_link_libraries(world_ledger_random_test PRIVATE room_ledger room_base)
  # the oracle is half of the work
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/ledger_oracle.c PROPERTIES COMPILE_OPTIONS -O2)
endif()
portald_test(world_ledger_store_test world ${CMAKE_CURRENT_LIST_DIR}/ledger_store_test.c
  ${CMAKE_CURRENT_LIST_DIR}/ledger_run.c ${CMAKE_CURRENT_LIST_DIR}/ledger_events.c ${CMAKE_CURRENT_LIST_DIR}/ledger_oracle.c)
if(TARGET world_ledger_store_test)
  target_link_libraries(world_ledger_store_test PRIVATE room_store room_ledger room_spec room_base)
endif()
