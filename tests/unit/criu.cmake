# SPDX-License-Identifier: Apache-2.0
set(criu ${CMAKE_SOURCE_DIR}/plugins/checkpoint/criu)
portald_test(test_criu_parse unit ${CMAKE_CURRENT_LIST_DIR}/criu_parse_test.c ${criu}/cgimage.c ${criu}/parse.c)
portald_test(test_criu_record unit ${CMAKE_CURRENT_LIST_DIR}/criu_record_test.c ${criu}/check.c ${criu}/log.c ${criu}/meta.c ${criu}/parse.c ${criu}/proc.c
  ${CMAKE_SOURCE_DIR}/plugins/checkpoint/lib/wait.c)
foreach(part parse record)
  if(TARGET test_criu_${part})
    target_include_directories(test_criu_${part} PRIVATE ${criu})
    target_link_libraries(test_criu_${part} PRIVATE room_base PkgConfig::JANSSON)
  endif()
endforeach()
