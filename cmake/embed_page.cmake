# SPDX-License-Identifier: BSD-3-Clause
# cmake -D "FILES=a/index.html;a/app.js" -D OUTPUT=page_files.cc -P embed_page.cmake
# Generates the source of rocescope::PageFiles() (appliance/daemon/web/page_files.h), or of the function that
# -D FUNCTION=NAME selects.
if(NOT FUNCTION)
  set(FUNCTION PageFiles)
endif()
set(types_html "text/html; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_json "application/json")
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," octets "${hex}")
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  string(APPEND arrays "constexpr unsigned char k${FUNCTION}${number}[] = {${octets}};\n")
  string(APPEND rows
    "      {\"/${name}\", \"${types_${extension}}\", "
    "{reinterpret_cast<const char*>(k${FUNCTION}${number}), sizeof k${FUNCTION}${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Generated.
#include \"appliance/daemon/web/page_files.h\"

#include <array>

namespace rocescope {
namespace {

${arrays}
}  // namespace

std::span<const PageFile> ${FUNCTION}() {
  static const std::array<PageFile, ${number}> files = {{
${rows}  }};
  return files;
}

}  // namespace rocescope
")
