# SPDX-License-Identifier: Apache-2.0
set(here ${CMAKE_CURRENT_LIST_DIR})
set(api ${CMAKE_SOURCE_DIR}/core/api)
portald_fuzz(api ${here}/api_fuzz.c ${api}/parse.c ${api}/routes.c ${api}/error.c ROOMS base OWN core/api/parse.c core/api/error.c)
