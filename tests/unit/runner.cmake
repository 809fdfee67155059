# SPDX-License-Identifier: Apache-2.0
if(TARGET room_runner)
  foreach(part bundle life log pack)
    portald_test(test_runner_${part} unit ${CMAKE_CURRENT_LIST_DIR}/runner_${part}_test.c)
    if(TARGET test_runner_${part})
      target_link_libraries(test_runner_${part} PRIVATE room_runner room_pack room_config room_host room_frame room_base)
    endif()
  endforeach()
endif()
