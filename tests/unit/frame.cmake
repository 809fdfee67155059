# SPDX-License-Identifier: Apache-2.0
foreach(part codec conn)
  portald_test(test_frame_${part} unit ${CMAKE_CURRENT_LIST_DIR}/frame_${part}_test.c)
  if(TARGET test_frame_${part})
    target_link_libraries(test_frame_${part} PRIVATE room_base room_frame)
  endif()
endforeach()
