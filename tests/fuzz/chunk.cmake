# SPDX-License-Identifier: Apache-2.0
portald_fuzz(chunk ${CMAKE_CURRENT_LIST_DIR}/chunk_fuzz.c ROOMS chunk base OWN core/chunk/index.c)
