// SPDX-License-Identifier: BSD-3-Clause
// Protobuf's JSON mapping for reports of tens of thousands of elements: MessageToJsonString builds
// a tree of the whole message first, which takes twenty octets of memory and most of a replay's
// time for every octet of output.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace rocescope {

// Appends `message` in the standard mapping: proto field names, all primitive fields, 64-bit
// integers as strings, enumerators by name, unset messages left out. Two spaces a level when
// `indented`. Not for maps, oneofs, bytes, extensions and well-known types: no report has them.
void AppendJson(const google::protobuf::Message& message, bool indented, std::string& out);

}  // namespace rocescope
