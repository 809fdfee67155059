# SPDX-License-Identifier: Apache-2.0
set(here ${CMAKE_CURRENT_LIST_DIR})
portald_fuzz(prescan ${here}/prescan_fuzz.c ROOMS base config OWN core/config/prescan.c)
portald_fuzz(config ${here}/config_fuzz.c ROOMS base config
  OWN core/config/build.c core/config/entries.c core/config/load.c core/config/value.c core/config/schema.c)
portald_fuzz(frame ${here}/frame_fuzz.c ROOMS base frame OWN core/frame/frame.c)

# The proof that the fuzzer finds what it is there to find: an overflow, planted in a program of its own.
if(PORTALD_FUZZ)
  portald_fuzz_program(planted_prescan SOURCES ${here}/prescan_fuzz.c ${CMAKE_SOURCE_DIR}/core/config/prescan.c ROOMS base)
  target_compile_definitions(planted_prescan PRIVATE PORTALD_PLANTED_OVERFLOW=1)
  target_link_libraries(planted_prescan PRIVATE PkgConfig::CONFIG)
endif()
