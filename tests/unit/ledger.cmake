# SPDX-License-Identifier: Apache-2.0
foreach(part sums hold cap ahead record)
  portald_test(test_ledger_${part} unit ${CMAKE_CURRENT_LIST_DIR}/ledger_${part}_test.c)
  if(TARGET test_ledger_${part})
    target_link_libraries(test_ledger_${part} PRIVATE room_ledger room_base)
  endif()
endforeach()
if(TARGET test_ledger_record)
  target_link_options(test_ledger_record PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup,--wrap=strndup,--wrap=vasprintf,--wrap=asprintf)
endif()
