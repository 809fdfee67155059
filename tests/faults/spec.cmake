# SPDX-License-Identifier: Apache-2.0
portald_test(test_spec_faults faults ${CMAKE_CURRENT_LIST_DIR}/spec_faults_test.c)
if(TARGET test_spec_faults)
  target_link_libraries(test_spec_faults PRIVATE room_spec room_base)
  target_link_options(test_spec_faults PRIVATE
    -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=strdup -Wl,--wrap=strndup)
endif()
