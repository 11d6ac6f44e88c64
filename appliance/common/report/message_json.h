// SPDX-License-Identifier: BSD-3-Clause
// Protobuf's JSON mapping for reports with tens of thousands of elements. MessageToJsonString
// builds a tree of the whole message first, which takes twenty bytes of memory for every byte of
// output, and most of a replay's time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace rocescope {

// Appends `message` in the standard JSON mapping: proto field names, all primitive fields, 64-bit
// integers as strings, enumerators by name, timestamps and durations as text, unset messages
// omitted. `indented` uses two spaces for each level. Maps, oneofs, bytes, extensions and other
// well-known types are not supported; no report has them.
void AppendJson(const google::protobuf::Message& message, bool indented, std::string& out);

// Passes the same text to `take` in pieces of about a megabyte, so that the text of a large report
// is never in memory as a whole. Stops when `take` returns false, and returns false then.
bool WriteJson(const google::protobuf::Message& message, bool indented,
               const std::function<bool(std::string_view)>& take);

}  // namespace rocescope
