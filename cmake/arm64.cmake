# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file of the preset agent-arm64: g++ for arm64 and the libraries of docker/make_arm64_sysroot.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(ROCESCOPE_ARM64_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot CACHE PATH
    "Folder of docker/make_arm64_sysroot")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ROCESCOPE_ARM64_SYSROOT)
if(NOT EXISTS ${ROCESCOPE_ARM64_SYSROOT}/packages)
  message(FATAL_ERROR "${ROCESCOPE_ARM64_SYSROOT} has no arm64 libraries; run docker/make_arm64_sysroot")
endif()
get_filename_component(CMAKE_SYSROOT ${ROCESCOPE_ARM64_SYSROOT} REALPATH)

# Libraries and headers come from the sysroot; protoc and the other tools are programs of this machine.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ROCESCOPE_CROSS_ENVIRONMENT
  PKG_CONFIG_LIBDIR=${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig
  PKG_CONFIG_SYSROOT_DIR=${CMAKE_SYSROOT}
  # dpkg-shlibdeps looks up packages of arm64.
  DEB_HOST_ARCH=arm64 DPKG_ADMINDIR=${CMAKE_SYSROOT}/dpkg)
foreach(setting IN LISTS ROCESCOPE_CROSS_ENVIRONMENT)
  string(REGEX MATCH "^([^=]*)=(.*)$" setting ${setting})
  set(ENV{${CMAKE_MATCH_1}} ${CMAKE_MATCH_2})
endforeach()
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)

# Runs programs of the build: generators of code, and `rocescope-agent --help` for the man page.
find_program(QEMU_AARCH64 qemu-aarch64-static REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L ${CMAKE_SYSROOT})
