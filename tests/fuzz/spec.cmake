# SPDX-License-Identifier: Apache-2.0
set(here ${CMAKE_CURRENT_LIST_DIR})
portald_fuzz(yaml ${here}/yaml_fuzz.c ROOMS spec base OWN core/spec/yaml.c)
portald_fuzz(spec ${here}/spec_fuzz.c ROOMS spec base
  OWN core/spec/check.c core/spec/check_text.c core/spec/check_list.c core/spec/check_capture.c core/spec/spec.c
  core/spec/flags.c core/spec/settings.c core/spec/on.c)
