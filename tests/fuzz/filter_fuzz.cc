// SPDX-License-Identifier: BSD-3-Clause
// The arguments of --since, --until, --qp and --tap: accepted values are in the documented range.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dataplane/source/filter.h"
#include "dataplane/source/tap.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bound = ParseTimeBound(text)) {
    if (bound->offset < Duration(0)) std::abort();
    const FrameFilter filter{.until = *bound};
    (void)filter.WindowFrom(Timestamp::max());
    (void)filter.WindowFrom(Timestamp::min());
  }
  if (const auto qpn = ParseQpn(text); qpn && qpn->value > k24BitMask) std::abort();
  if (const auto tap = ParseTapSpec(text)) {
    if (tap->name + "=" + tap->path != text || TapNameOf(tap->path).empty()) std::abort();
  }
  return 0;
}
