# SPDX-License-Identifier: BSD-3-Clause
# cmake -D GENERATOR=openapi_generator -D DESCRIPTORS=... -D PROTO=... -D VERSION=... -D OUTPUT=... -P ...
# Writes the generator's output to the file atomically.
execute_process(COMMAND ${GENERATOR} ${DESCRIPTORS} ${PROTO} ${VERSION}
                OUTPUT_VARIABLE text RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${GENERATOR}: ${code}")
endif()
file(WRITE ${OUTPUT} "${text}")
