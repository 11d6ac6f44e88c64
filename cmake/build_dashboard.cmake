# SPDX-License-Identifier: BSD-3-Clause
# cmake -D SOURCE=appliance/dashboard -D MESSAGES=<messages.ts> -D WORK=<folder> -D PLAIN=<page>
#       -P build_dashboard.cmake
# Builds the dashboard into WORK/dist, from a copy of its sources and the generated types of the API. If
# npm cannot fetch its packages, dist contains a placeholder page and CMake prints a warning.
file(REMOVE_RECURSE ${WORK}/source ${WORK}/browser)  # remove files that no longer exist in the sources
file(COPY ${SOURCE}/source ${SOURCE}/browser ${SOURCE}/index.html ${SOURCE}/package.json ${SOURCE}/vite.config.ts
          ${SOURCE}/tsconfig.json ${SOURCE}/check_size.mjs DESTINATION ${WORK})
file(COPY ${MESSAGES} DESTINATION ${WORK}/source/api)
set(installed ${WORK}/package-lock.json)  # the lock file that node_modules was installed from
file(SHA256 ${SOURCE}/package-lock.json wanted)
set(there "")
if(EXISTS ${installed} AND EXISTS ${WORK}/node_modules)
  file(SHA256 ${installed} there)
endif()
set(failed 0)
if(NOT there STREQUAL wanted)
  file(COPY ${SOURCE}/package-lock.json DESTINATION ${WORK})
  execute_process(COMMAND npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
                  WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_VARIABLE said
                  ERROR_VARIABLE said TIMEOUT 600)
endif()
if(failed EQUAL 0)
  execute_process(COMMAND npm run --silent build WORKING_DIRECTORY ${WORK} RESULT_VARIABLE built
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT built EQUAL 0)
    message(FATAL_ERROR "The dashboard build failed:\n${said}")
  endif()
elseif(said MATCHES "EUSAGE")
  file(REMOVE ${installed})
  message(FATAL_ERROR "package.json and package-lock.json of ${SOURCE} do not agree:\n${said}")
else()
  file(REMOVE ${installed})
  message(WARNING "npm could not fetch the dashboard's packages, so the program is built without it. "
                  "Once npm reaches its registry (npm ping), remove ${WORK}/dist and build again; "
                  "-D ROCESCOPE_DASHBOARD=OFF builds without a dashboard. npm output:\n${said}")
  file(MAKE_DIRECTORY ${WORK}/dist)
  configure_file(${PLAIN} ${WORK}/dist/index.html COPYONLY)
  file(WRITE ${WORK}/dist/app.js "")
  file(WRITE ${WORK}/dist/app.css "")
endif()
foreach(file index.html app.js app.css)
  file(TOUCH ${WORK}/dist/${file})
endforeach()
