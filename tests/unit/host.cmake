# SPDX-License-Identifier: Apache-2.0
portald_test(unit_host_marshal_test unit ${CMAKE_CURRENT_LIST_DIR}/host_marshal_test.c)
target_link_libraries(unit_host_marshal_test PRIVATE room_host room_frame room_base)
