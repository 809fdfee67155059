# SPDX-License-Identifier: Apache-2.0
foreach(part placement placement_notice)
  portald_test(test_${part} unit ${CMAKE_CURRENT_LIST_DIR}/${part}_test.c)
  if(TARGET test_${part})
    target_link_libraries(test_${part} PRIVATE room_placement room_spec room_base)
  endif()
endforeach()
