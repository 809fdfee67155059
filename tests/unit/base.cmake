# SPDX-License-Identifier: Apache-2.0
foreach(part quantity id js misc)
  portald_test(test_base_${part} unit ${CMAKE_CURRENT_LIST_DIR}/base_${part}_test.c)
  if(TARGET test_base_${part})
    target_link_libraries(test_base_${part} PRIVATE room_base)
  endif()
endforeach()
