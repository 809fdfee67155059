# SPDX-License-Identifier: Apache-2.0
portald_fuzz(values ${CMAKE_CURRENT_LIST_DIR}/values_fuzz.c ${CMAKE_SOURCE_DIR}/plugins/checkpoint/values/wire.c ROOMS base OWN plugins/checkpoint/values/wire.c)
