# SPDX-License-Identifier: Apache-2.0
foreach(part fields check yaml flags settings life)
  portald_test(test_spec_${part} unit ${CMAKE_CURRENT_LIST_DIR}/spec_${part}_test.c)
  if(TARGET test_spec_${part})
    target_link_libraries(test_spec_${part} PRIVATE room_spec room_base)
  endif()
endforeach()
