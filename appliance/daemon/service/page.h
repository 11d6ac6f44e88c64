// SPDX-License-Identifier: BSD-3-Clause
// Pages of lists (Google AIP-158), with filter and sort order. A token identifies the snapshot of
// the first page, the request, and the start of the next page.
#pragma once

#include <google/protobuf/repeated_field.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/daemon/service/list_filter.h"
#include "appliance/daemon/service/list_order.h"
#include "appliance/daemon/service/service_error.h"
#include "base/hash.h"

namespace rocescope {

struct PageToken {
  // Identifies the snapshot across restarts; 0: the list has no snapshot. For past events, the time
  // of the event before the page.
  uint64_t version = 0;
  // Index of the first element of the page, or id of the job or past event before it; at least 1.
  uint64_t offset = 0;
  uint64_t request = 0;  // hash of the request without the fields that may differ between pages

  friend bool operator==(const PageToken&, const PageToken&) = default;
};

// The text of a token is opaque to clients.
std::string ToText(const PageToken& token);
// Returns nullopt if the text is not a token.
std::optional<PageToken> ParsePageToken(std::string_view text);

// Returns the number of elements per page for a requested number. 0 requests the default. CheckSize
// refuses negative numbers before this is called.
inline constexpr uint32_t kDefaultPage = 100;
inline constexpr uint32_t kMaxPage = 1000;
constexpr uint32_t PageSize(int32_t asked) {
  const auto size = static_cast<uint32_t>(asked);
  return asked <= 0 ? kDefaultPage : size < kMaxPage ? size : kMaxPage;
}
// Bytes of the elements of a page in the encoding of Protobuf, above which the page ends early. A
// page has at least one element. By default, gRPC clients accept responses of at most 4 MiB.
inline constexpr uint64_t kMaxPageBytes = uint64_t{3} << 20;

// Counts the bytes of the elements of a page.
class PageBytes {
 public:
  // Returns false if the page has an element and this one would exceed kMaxPageBytes.
  bool Add(uint64_t size) {
    bytes_ += size;
    return bytes_ == size || bytes_ <= kMaxPageBytes;
  }

 private:
  uint64_t bytes_ = 0;
};

// Refuses a negative number (Google AIP-158).
ServiceStatus CheckSize(std::string_view field, int32_t asked);

// The fields of a request that concern pages. A request need not have all of them.
struct ListRequest {
  int32_t page_size = 0;
  std::string filter;
  std::string order_by;
  uint64_t hash = 0;               // as PageToken::request
  std::optional<PageToken> token;  // nullopt: first page

  uint64_t first() const { return token ? token->offset : 0; }
};

// Fails if the page size is negative, or if the token is invalid or belongs to another request.
template <typename Request>
ServiceResult<ListRequest> ReadListRequest(const Request& request) {
  Request rest = request;
  rest.clear_page_token();
  ListRequest list;
  if constexpr (requires { request.page_size(); }) {
    if (const auto sound = CheckSize("page_size", request.page_size()); !sound) {
      return tl::unexpected(sound.error());
    }
    list.page_size = request.page_size();
    rest.clear_page_size();
  }
  list.hash = HashText(Request::descriptor()->full_name() + rest.SerializeAsString());
  if constexpr (requires { request.filter(); }) list.filter = request.filter();
  if constexpr (requires { request.order_by(); }) list.order_by = request.order_by();
  if (request.page_token().empty()) return list;
  list.token = ParsePageToken(request.page_token());
  if (!list.token) {
    return RefuseFields({"page_token"},
                        "not a token of this appliance; leave it empty for the first page");
  }
  if (list.token->request != list.hash) {
    return RefuseFields({"page_token"},
                        "belongs to a different request: from page to page, only page_size and "
                        "page_token may change");
  }
  return list;
}

// Refuses times before 1970 and after kLatestTime. An unset time is valid.
ServiceStatus CheckTime(std::string_view field, const google::protobuf::Timestamp& time);

// Fills the elements of a page, `total_size` and `next_page_token`. `fill(i, element)` fills
// element i of `count` elements. `version` is PageToken::version of the snapshot.
template <typename Element, typename Fill, typename Response>
ServiceStatus FillPage(const ListRequest& list, uint64_t version, uint64_t count, Fill fill,
                       google::protobuf::RepeatedPtrField<Element>& out, Response& response) {
  const auto filter = ListFilter::Parse(list.filter, *Element::descriptor());
  if (!filter) return tl::unexpected(filter.error());
  const auto order = ListOrder::Parse(list.order_by, *Element::descriptor());
  if (!order) return tl::unexpected(order.error());
  // Only one element at a time exists as a message, because lists can have 100,000 elements.
  std::vector<ListOrder::Row> rows;
  const bool is_whole = filter->IsEmpty() && order->IsEmpty();
  Element element;
  FilterWork work;
  for (uint64_t i = 0; !is_whole && i < count; ++i) {
    element.Clear();
    fill(i, element);
    const auto matches = filter->Matches(element, work);
    if (!matches) return tl::unexpected(matches.error());
    if (*matches) rows.push_back(order->RowOf(i, element));
  }
  order->Sort(rows);
  const uint64_t total = is_whole ? count : rows.size();
  const uint64_t end = std::min(total, std::min(list.first(), total) + PageSize(list.page_size));
  uint64_t i = list.first();
  for (PageBytes bytes; i < end; ++i) {
    Element one;
    fill(is_whole ? i : rows[i].index, one);
    if (!bytes.Add(one.ByteSizeLong())) break;
    *out.Add() = std::move(one);
  }
  response.set_total_size(static_cast<int32_t>(total));
  if (i < total) {
    response.set_next_page_token(ToText({.version = version, .offset = i, .request = list.hash}));
  }
  return {};
}

}  // namespace rocescope
