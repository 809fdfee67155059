# SPDX-License-Identifier: Apache-2.0
if(TARGET room_daemon)
  portald_test(test_notify unit ${CMAKE_CURRENT_LIST_DIR}/notify_test.c)
  portald_test(test_site unit ${CMAKE_CURRENT_LIST_DIR}/site_test.c)
  foreach(name test_notify test_site)
    if(TARGET ${name})
      target_link_libraries(${name} PRIVATE room_daemon room_executor room_api room_config room_host room_frame room_store room_ledger room_placement room_market room_policy
        room_spec room_base)
    endif()
  endforeach()
endif()
