# SPDX-License-Identifier: Apache-2.0
portald_fuzz(criu ${CMAKE_CURRENT_LIST_DIR}/criu_fuzz.c ${CMAKE_SOURCE_DIR}/plugins/checkpoint/criu/parse.c ${CMAKE_SOURCE_DIR}/plugins/checkpoint/criu/cgimage.c ROOMS base OWN plugins/checkpoint/criu/parse.c plugins/checkpoint/criu/cgimage.c)
