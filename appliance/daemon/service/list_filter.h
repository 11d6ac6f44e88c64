// SPDX-License-Identifier: BSD-3-Clause
// Filters of lists, evaluated on protobuf messages. The syntax is the subset of Google AIP-160 that
// service.proto describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/service/service_error.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace rocescope {

inline constexpr size_t kLongestFilter = 4096;  // bytes
inline constexpr int kDeepestFilter = 32;       // nested parentheses and NOTs
inline constexpr size_t kMostConditions = 64;   // conditions of a filter
// Comparisons with values that the filter of one call may take, over all elements of the list. A
// long text counts as several (AnyValue). They take about 0.2 s.
inline constexpr uint64_t kMostComparisons = 5'000'000;

// What the filter of one call has done so far.
class FilterWork {
 public:
  explicit FilterWork(uint64_t most = kMostComparisons) : most_(most), left_(most) {}

 private:
  friend class ListFilter;

  uint64_t most_ = 0;
  uint64_t left_ = 0;
  std::vector<uint64_t> of_field_;  // comparisons by index in ListFilter::fields_
};

// A condition on the fields of messages of one type. Immutable.
class ListFilter {
 public:
  struct Node;

  ListFilter();
  ~ListFilter();
  ListFilter(ListFilter&&) noexcept;
  ListFilter& operator=(ListFilter&&) noexcept;

  // The error describes the position and the accepted values. An empty text matches all messages.
  static ServiceResult<ListFilter> Parse(std::string_view text,
                                         const google::protobuf::Descriptor& type);

  // Adds to `work`, which belongs to one call and one filter. Fails with kTooLong if the filter
  // takes more comparisons than that permits; the error names the field that takes most.
  ServiceResult<bool> Matches(const google::protobuf::Message& message, FilterWork& work) const;
  bool IsEmpty() const { return root_ == nullptr; }

 private:
  std::unique_ptr<const Node> root_;
  std::vector<std::string> fields_;  // names of the fields in the conditions, without duplicates
};

}  // namespace rocescope
