# SPDX-License-Identifier: BSD-3-Clause
# cmake -D GENERATOR=openapi_generator -D DESCRIPTORS=... -D PROTO=... -D VERSION=... -D OUTPUT=... -P ...
# What the generator prints becomes the file, whole or not at all.
execute_process(COMMAND ${GENERATOR} ${DESCRIPTORS} ${PROTO} ${VERSION}
                OUTPUT_VARIABLE text RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${GENERATOR}: ${code}")
endif()
file(WRITE ${OUTPUT} "${text}")
