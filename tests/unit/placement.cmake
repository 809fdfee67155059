# SPDX-License-Identifier: Apache-2.0
portald_test(test_placement unit ${CMAKE_CURRENT_LIST_DIR}/placement_test.c)
if(TARGET test_placement)
  target_link_libraries(test_placement PRIVATE room_placement room_spec room_base)
endif()
