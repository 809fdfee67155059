# SPDX-License-Identifier: Apache-2.0
foreach(part cut seal index)
  portald_test(test_chunk_${part} unit ${CMAKE_CURRENT_LIST_DIR}/chunk_${part}_test.c)
  if(TARGET test_chunk_${part})
    target_link_libraries(test_chunk_${part} PRIVATE room_chunk room_base)
  endif()
endforeach()
