# SPDX-License-Identifier: Apache-2.0
install(DIRECTORY traces DESTINATION ${CMAKE_INSTALL_DATADIR}/portald FILES_MATCHING PATTERN "*.trace" PATTERN "NOTICE" PATTERN "README.md")
install(PROGRAMS traces/convert.py DESTINATION ${CMAKE_INSTALL_DATADIR}/portald/traces)
