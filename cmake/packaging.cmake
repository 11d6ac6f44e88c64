# SPDX-License-Identifier: BSD-3-Clause
# Debian packages: `cmake --build BUILD --target packages` writes *.deb into BUILD/packages.
# packaging/README.md describes their contents. With ROCESCOPE_AGENT_ONLY, there is only rocescope-agent.
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)
find_program(GZIP_PROGRAM gzip)
if(NOT Python3_Interpreter_FOUND OR NOT GZIP_PROGRAM)
  message(STATUS "No python3 or gzip: building without the target `packages`")
  return()
endif()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(packaging_out ${PROJECT_BINARY_DIR}/packaging)

# The date of the changelog and of the man pages: SOURCE_DATE_EPOCH, otherwise the last commit.
set(package_epoch "$ENV{SOURCE_DATE_EPOCH}")
if(NOT package_epoch)
  execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE package_epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT package_epoch)
  string(TIMESTAMP package_epoch "%s" UTC)
endif()
string(CONCAT print_dates
  "import email.utils, time\n"
  "print(email.utils.formatdate(${package_epoch}))\n"
  "print(time.strftime('%Y-%m-%d', time.gmtime(${package_epoch})))")
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c "${print_dates}"
  OUTPUT_VARIABLE package_dates OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" package_dates "${package_dates}")
list(GET package_dates 0 PACKAGE_DATE_RFC)
list(GET package_dates 1 package_date)

set(PACKAGE_MAINTAINER "The rocescope authors <rocescope@users.noreply.github.com>")

# cmake/arm64.cmake sets the environment of pkg-config and dpkg-shlibdeps, and an emulator.
set(cross)
if(ROCESCOPE_CROSS_ENVIRONMENT)
  set(cross ${CMAKE_COMMAND} -E env ${ROCESCOPE_CROSS_ENVIRONMENT})
endif()
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)

# rocescope-agent: `rocescope agent` alone, so that GPU hosts need no appliance.
add_executable(rocescope-agent
  ${packaging}/agent_main.cc
  appliance/cli/command/agent.cc appliance/cli/command/agent_arguments.cc
  appliance/cli/command/log.cc appliance/cli/command/message.cc appliance/cli/command/output.cc
  appliance/cli/command/sandboxed_run.cc appliance/cli/command/stop_signal.cc
  appliance/common/report/json_line.cc appliance/common/report/visible_text.cc)
set(link_launcher ${cross} ${Python3_EXECUTABLE} -B ${packaging}/link_statically.py)
list(JOIN link_launcher " " link_launcher)
set_target_properties(rocescope-agent PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${packaging_out}/agent
  # GPU hosts need no libraries of gRPC.
  RULE_LAUNCH_LINK "${link_launcher}")
target_compile_definitions(rocescope-agent PRIVATE
  ROCESCOPE_VERSION="${ROCESCOPE_VERSION}" ROCESCOPE_PROGRAM="rocescope-agent")
target_include_directories(rocescope-agent PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(rocescope-agent PRIVATE
  rocescope::appliance_agent rocescope::dataplane_source rocescope::base_text
  CLI11::CLI11 fmt::fmt spdlog::spdlog_header_only rocescope_warnings)
target_link_options(rocescope-agent PRIVATE -Wl,--gc-sections -Wl,--as-needed)

# rocescope-sim with the paths of the installed scenarios instead of those in the source tree.
if(TARGET rocescope-sim)
  add_executable(rocescope-sim-installed EXCLUDE_FROM_ALL sim/main.cc)
  # Not OUTPUT_NAME rocescope-sim: `ninja rocescope-sim` would then build this target.
  set_target_properties(rocescope-sim-installed PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${packaging_out}/simulator)
  target_include_directories(rocescope-sim-installed PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(rocescope-sim-installed PRIVATE
    ROCESCOPE_SCENARIOS="/usr/share/rocescope/scenarios"
    ROCESCOPE_PROFILES="/usr/share/rocescope/profiles"
    ROCESCOPE_PRIORS="/usr/share/rocescope/priors.yaml")
  target_link_libraries(rocescope-sim-installed PRIVATE
    rocescope::sim_command rocescope_warnings)
  target_link_options(rocescope-sim-installed PRIVATE -s)  # CPack strips only installed TARGETS
endif()

# The units contain the directory of the installed programs.
set(PACKAGE_BINDIR /usr/bin)
configure_file(${packaging}/rocescope.service.in ${packaging_out}/rocescope.service @ONLY)
configure_file(${packaging}/rocescope-agent.service.in ${packaging_out}/rocescope-agent.service @ONLY)

# Packages are installed by component only: `cmake --install` installs the programs alone.
function(_rocescope_package_file component destination)
  install(FILES ${ARGN} DESTINATION ${destination} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(package_outputs)
set(package_components)

# _rocescope_package(agent rocescope-agent rocescope-agent): man pages, bash completion, changelog,
# copyright and maintainer scripts of the package NAME, which contains the program of TARGET.
function(_rocescope_package component name target)
  set(out ${packaging_out}/${name})
  set(PACKAGE_NAME ${name})
  configure_file(${packaging}/changelog.in ${out}/changelog @ONLY)
  # The libraries of another architecture cannot be listed by ldd.
  set(make_sbom)
  if(NOT CMAKE_CROSSCOMPILING)
    set(make_sbom COMMAND Python3::Interpreter -B ${packaging}/make_sbom.py
        --program $<TARGET_FILE:${target}> --name ${name} --version ${ROCESCOPE_VERSION}
        --epoch ${package_epoch} --packages ${PROJECT_SOURCE_DIR}/docker/packages.txt
        --out ${out}/${name}.spdx.json)
    if(name STREQUAL "rocescope")
      list(APPEND make_sbom --lock ${PROJECT_SOURCE_DIR}/appliance/dashboard/package-lock.json)
    endif()
    install(FILES ${out}/${name}.spdx.json DESTINATION /usr/share/doc/${name} COMPONENT ${component}
            EXCLUDE_FROM_ALL)
  endif()
  add_custom_command(
    OUTPUT ${out}/stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${out}/man ${out}/completions
    COMMAND Python3::Interpreter -B ${packaging}/make_docs.py --program $<TARGET_FILE:${target}>
            --name ${name} --version ${ROCESCOPE_VERSION} --date ${package_date}
            --man ${out}/man --completions ${out}/completions --emulator "${emulator}"
    COMMAND ${GZIP_PROGRAM} -9nkf ${out}/changelog
    ${make_sbom}
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/stamp
    DEPENDS ${target} ${packaging}/make_docs.py ${packaging}/make_sbom.py ${out}/changelog
    VERBATIM)
  set(package_outputs ${package_outputs} ${out}/stamp PARENT_SCOPE)
  set(package_components ${package_components} ${component} PARENT_SCOPE)
  # The package rocescope-agent has the page rocescope-agent(1) of its own program, and both packages
  # can be installed on one host.
  set(not_here)
  if(NOT name STREQUAL "rocescope-agent")
    set(not_here PATTERN "rocescope-agent.1.gz" EXCLUDE)
  endif()
  install(DIRECTORY ${out}/man/ DESTINATION /usr/share/man/man1 COMPONENT ${component}
          EXCLUDE_FROM_ALL ${not_here})
  install(DIRECTORY ${out}/completions/ DESTINATION /usr/share/bash-completion/completions
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  _rocescope_package_file(${component} /usr/share/doc/${name} ${out}/changelog.gz)
  install(FILES ${packaging}/${name}.copyright DESTINATION /usr/share/doc/${name} RENAME copyright
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${packaging}/${name}.lintian-overrides)
    install(FILES ${packaging}/${name}.lintian-overrides DESTINATION /usr/share/lintian/overrides
            RENAME ${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  # dpkg knows maintainer scripts by their names.
  set(control)
  foreach(script postinst prerm postrm)
    if(EXISTS ${packaging}/${name}.${script})
      configure_file(${packaging}/${name}.${script} ${out}/control/${script} COPYONLY)
      list(APPEND control ${out}/control/${script})
    endif()
  endforeach()
  if(ARGN)
    string(REPLACE ";" "\n" conffiles "${ARGN}")
    file(WRITE ${out}/control/conffiles "${conffiles}\n")
    list(APPEND control ${out}/control/conffiles)
  endif()
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}" PARENT_SCOPE)
endfunction()

if(TARGET rocescope)
  _rocescope_package(appliance rocescope rocescope /etc/rocescope/appliance.yaml)
  _rocescope_package_file(appliance /etc/rocescope ${packaging}/appliance.yaml)
  _rocescope_package_file(appliance /lib/systemd/system ${packaging_out}/rocescope.service)
  _rocescope_package_file(appliance /usr/share/rocescope
    appliance/daemon/metrics/alerts.yaml appliance/daemon/metrics/grafana.json)
endif()

_rocescope_package(agent rocescope-agent rocescope-agent /etc/rocescope/agent.yaml)
install(TARGETS rocescope-agent RUNTIME COMPONENT agent)
_rocescope_package_file(agent /etc/rocescope ${packaging}/agent.yaml)
_rocescope_package_file(agent /lib/systemd/system ${packaging_out}/rocescope-agent.service)

if(TARGET rocescope-sim)
  _rocescope_package(simulator rocescope-sim rocescope-sim-installed)
  install(PROGRAMS $<TARGET_FILE:rocescope-sim-installed> DESTINATION ${CMAKE_INSTALL_BINDIR}
          RENAME rocescope-sim COMPONENT simulator EXCLUDE_FROM_ALL)
  install(DIRECTORY sim/scenarios/ DESTINATION /usr/share/rocescope/scenarios COMPONENT simulator
          EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.yaml")
  install(DIRECTORY sim/profiles/ DESTINATION /usr/share/rocescope/profiles COMPONENT simulator
          EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.yaml")
  _rocescope_package_file(simulator /usr/share/rocescope sim/draw/priors.yaml)
endif()

add_custom_target(package_files DEPENDS ${package_outputs})
add_dependencies(package_files rocescope-agent)
if(TARGET rocescope)
  add_dependencies(package_files rocescope)
endif()
add_custom_target(packages
  COMMAND ${cross} ${CMAKE_CPACK_COMMAND} --config ${PROJECT_BINARY_DIR}/CPackConfig.cmake
          -B ${PROJECT_BINARY_DIR}/packages
  DEPENDS package_files
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
  USES_TERMINAL VERBATIM)
if(TARGET python_package)
  add_dependencies(packages python_package)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rocescope)
set(CPACK_PACKAGE_VERSION ${ROCESCOPE_VERSION})
set(CPACK_PACKAGE_CONTACT "${PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_HOMEPAGE_URL https://github.com/rocescope/rocescope)
set(CPACK_PACKAGE_VENDOR "The rocescope authors")
set(CPACK_COMPONENTS_ALL ${package_components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# CPack would put a summary in front of the description of each component.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_APPLIANCE_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_APPLIANCE_DESCRIPTION "telemetry appliance for RoCEv2 fabrics
rocescope receives mirrored RoCEv2 packets, in-band network telemetry (INT),
sFlow, switch counters and the reports of host agents. It measures traffic,
detects faults that slow down AI jobs, and names the faulty component.
.
This package contains the program, the dashboard, a systemd service, Prometheus
alerts and a Grafana dashboard.")
if(ROCESCOPE_DPDK)
  # EAL loads the drivers at run time, so that dpkg-shlibdeps does not find them.
  set(CPACK_DEBIAN_APPLIANCE_PACKAGE_RECOMMENDS
      "librte-meta-net, librte-meta-bus, librte-meta-mempool")
endif()
set(CPACK_DEBIAN_APPLIANCE_PACKAGE_SUGGESTS "prometheus, rocescope-agent")

set(CPACK_DEBIAN_AGENT_DESCRIPTION "host agent of the rocescope telemetry appliance
The agent runs on GPU hosts. It reports NCCL logs, RDMA queue pairs, the
counters of NICs, GPUs and jobs to a rocescope appliance over gRPC. It runs as
an unprivileged user with bounded CPU time and memory.")

set(CPACK_DEBIAN_SIMULATOR_DESCRIPTION "simulator of RoCEv2 fabrics with faults
rocescope-sim simulates a RoCEv2 fabric that carries AI jobs, injects faults,
and writes the telemetry that switches, NICs and hosts would report, together
with the ground truth. `rocescope replay` reads its output.
.
The simulator links ns-3 and is distributed under the GNU GPL, version 2.")
set(CPACK_DEBIAN_SIMULATOR_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SIMULATOR_PACKAGE_RECOMMENDS rocescope)
include(CPack)
