// SPDX-License-Identifier: BSD-3-Clause
// Filters of lists, evaluated on protobuf messages. The syntax is the subset of Google AIP-160 that
// service.proto describes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "appliance/daemon/service/service_error.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace rocescope {

inline constexpr size_t kLongestFilter = 4096;  // bytes
inline constexpr int kDeepestFilter = 32;       // nested parentheses and NOTs
inline constexpr size_t kMostConditions = 64;   // conditions of a filter

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

  bool Matches(const google::protobuf::Message& message) const;
  bool IsEmpty() const { return root_ == nullptr; }

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace rocescope
