# SPDX-License-Identifier: Apache-2.0
set(sim ${CMAKE_SOURCE_DIR}/plugins/provider/sim)
portald_fuzz(trace ${CMAKE_CURRENT_LIST_DIR}/trace_fuzz.c ${sim}/trace.c ${sim}/words.c ${sim}/faults.c ${sim}/state.c ${sim}/cloud.c ${sim}/cloud_calls.c
  ${sim}/market.c ROOMS base OWN plugins/provider/sim/trace.c plugins/provider/sim/faults.c plugins/provider/sim/state.c)
