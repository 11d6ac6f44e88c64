// SPDX-License-Identifier: BSD-3-Clause
// Filters and sort orders of API lists. Any text either fails with a message or can be evaluated.
#include <google/protobuf/text_format.h>

#include <string_view>
#include <vector>

#include "appliance/daemon/service/list_filter.h"
#include "appliance/daemon/service/list_order.h"
#include "rocescope/v1/diagnosis.pb.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rocescope::ListFilter;
  using rocescope::ListOrder;
  using rocescope::v1::Finding;
  static const Finding finding = [] {
    Finding one;
    one.set_kind("gray_loss");
    one.set_confidence(0.95);
    one.mutable_start_time()->set_seconds(1'700'000'000);
    one.add_culprits()->set_rank(7);
    one.mutable_reach()->set_job_count(2);
    return one;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto filter = ListFilter::Parse(text, *Finding::descriptor());
  if (filter) {
    rocescope::FilterWork work;
    (void)filter->Matches(finding, work);
    (void)filter->Matches(Finding(), work);
  } else {
    rocescope::Require(!filter.error().message.empty(), "an error without a message");
  }
  if (const auto order = ListOrder::Parse(text, *Finding::descriptor())) {
    std::vector<ListOrder::Row> rows = {order->RowOf(0, finding), order->RowOf(1, Finding())};
    order->Sort(rows);
  }
  return 0;
}
