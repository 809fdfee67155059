# SPDX-License-Identifier: Apache-2.0
foreach(name cloud read)
  portald_test(sim_${name}_test unit ${CMAKE_CURRENT_LIST_DIR}/sim_${name}_test.c)
  target_link_libraries(sim_${name}_test PRIVATE provider_sim)
endforeach()
