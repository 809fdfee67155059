# SPDX-License-Identifier: Apache-2.0
if(TARGET room_daemon)
  portald_test(test_notify unit ${CMAKE_CURRENT_LIST_DIR}/notify_test.c)
  if(TARGET test_notify)
    target_link_libraries(test_notify PRIVATE room_daemon room_executor room_api room_config room_host room_frame room_store room_ledger room_placement room_market room_policy
      room_spec room_base)
  endif()
endif()
