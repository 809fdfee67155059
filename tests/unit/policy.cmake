# SPDX-License-Identifier: Apache-2.0
foreach(part ttl spot idle lease table property budget rescue move over again watch)
  portald_test(test_policy_${part} unit ${CMAKE_CURRENT_LIST_DIR}/policy_${part}_test.c)
  if(TARGET test_policy_${part})
    target_link_libraries(test_policy_${part} PRIVATE room_policy room_spec room_base)
  endif()
endforeach()
