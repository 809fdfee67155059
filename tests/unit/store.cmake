# SPDX-License-Identifier: Apache-2.0
foreach(part rows edges open crash ledger)
  portald_test(test_store_${part} unit ${CMAKE_CURRENT_LIST_DIR}/store_${part}_test.c)
  if(TARGET test_store_${part})
    target_link_libraries(test_store_${part} PRIVATE room_store room_ledger room_spec room_base)
  endif()
endforeach()
