# SPDX-License-Identifier: Apache-2.0
foreach(part prescan load bad)
  portald_test(test_config_${part} unit ${CMAKE_CURRENT_LIST_DIR}/config_${part}_test.c)
  if(TARGET test_config_${part})
    target_link_libraries(test_config_${part} PRIVATE room_base room_config)
  endif()
endforeach()
