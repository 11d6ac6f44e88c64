// SPDX-License-Identifier: BSD-3-Clause
// usage: api_generator DESCRIPTORS VERSION FOLDER
//
// Writes what follows from the calls of service.proto and agent.proto and from their option `call`:
//   openapi.json               OpenAPI 3.1 document of the HTTP API
//   messages.ts                TypeScript types of the JSON responses, for the dashboard
//   generated/rocescope/v1/    calls.inc: one macro for each call, for the authorisation table;
//                              service_calls.inc: those of service.proto, for servers and routes
// DESCRIPTORS is the output of protoc with --include_source_info. Bodies follow the JSON mapping of
// AppendJson: proto field names, all fields except unset messages, 64-bit integers as strings.
// Comments become descriptions.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/api/message_value.h"
#include "rocescope/v1/call_options.pb.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using rocescope::IsDuration;
using rocescope::IsTimestamp;
using Json = nlohmann::ordered_json;

// Returns the comments of a descriptor as one line.
template <typename Commented>
std::string CommentOf(const Commented& of) {
  google::protobuf::SourceLocation at;
  if (!of.GetSourceLocation(&at)) return "";
  const std::string both = at.leading_comments + " " + at.trailing_comments;
  std::string text = std::regex_replace(both, std::regex("\\s+"), " ");
  text = std::regex_replace(text, std::regex("^ | $"), "");
  return text;
}

void Describe(const std::string& comment, Json& out) {
  if (!comment.empty()) out["description"] = comment;
}

// Prints the descriptions that end in the middle of a sentence: protoc takes only the first line of
// a comment behind a field.
bool AreDescriptionsWhole(const Json& document) {
  bool all = true;
  if (document.is_object() && document.contains("description") &&
      document["description"].is_string()) {
    const auto& text = document["description"].get_ref<const std::string&>();
    if (text.empty() || std::string_view(",;:(").find(text.back()) != std::string_view::npos) {
      std::cerr << "\"" << text << "\": incomplete; move the comment above the declaration\n";
      all = false;
    }
  }
  for (const Json& inner : document) {
    if (inner.is_structured()) all = AreDescriptionsWhole(inner) && all;
  }
  return all;
}

std::string NameOf(const Descriptor& message) {
  return message.full_name().substr(message.file()->package().size() + 1);
}
std::string NameOf(const EnumDescriptor& type) {
  return type.full_name().substr(type.file()->package().size() + 1);
}

Json RefTo(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

const rocescope::v1::CallOptions& OptionsOf(const MethodDescriptor& method) {
  return method.options().GetExtension(rocescope::v1::call);
}

// Returns the JSON schema of one value in a response body.
Json SchemaOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"minimum", 0}, {"maximum", 4294967295}};
    case FieldDescriptor::CPPTYPE_INT64:
      return {{"type", "string"}, {"format", "int64"}, {"pattern", "^-?[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"format", "uint64"}, {"pattern", "^[0-9]+$"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"anyOf",
               {{{"type", "number"}},
                {{"type", "string"}, {"enum", {"NaN", "Infinity", "-Infinity"}}}}}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return RefTo(NameOf(*field.enum_type()));
    case FieldDescriptor::CPPTYPE_STRING:
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (IsTimestamp(field)) return {{"type", "string"}, {"format", "date-time"}};
      if (IsDuration(field)) return {{"type", "string"}, {"pattern", "^-?[0-9]+([.][0-9]+)?s$"}};
      return RefTo(NameOf(*field.message_type()));
  }
  return Json::object();
}

// Returns the JSON schema of a query or path parameter. 64-bit integers are numbers there.
Json ParameterSchemaOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return {{"type", "integer"}, {"format", "int64"}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "integer"}, {"minimum", 0}};
    default:
      return SchemaOf(field);
  }
}

class OpenApi {
 public:
  explicit OpenApi(const FileDescriptor& file) : file_(file) {}

  // Returns false and prints an error if the messages do not fit the JSON mapping.
  bool Run(const std::string& version) {
    document_ = {{"openapi", "3.1.0"},
                 {"info",
                  {{"title", "rocescope"},
                   {"version", version},
                   {"description",
                    "HTTP API of a running rocescope appliance. New versions may add fields but do "
                    "not change "
                    "the meaning of existing ones."},
                   {"license", {{"name", "BSD-3-Clause"}, {"identifier", "BSD-3-Clause"}}}}},
                 {"paths", Json::object()}};
    for (int i = 0; i < file_.service_count(); ++i) {
      for (int j = 0; j < file_.service(i)->method_count(); ++j) {
        AddCall(*file_.service(i)->method(j));
      }
    }
    document_["paths"]["/api/v1/openapi.json"]["get"] = {
        {"operationId", "OpenApi"},
        {"description", "Returns the OpenAPI description of this API."},
        {"responses",
         {{"200",
           {{"description", "OpenAPI 3.1"},
            {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}}}}}};
    schemas_["Error"] = ErrorSchema();
    document_["components"]["schemas"] = std::move(schemas_);
    return is_well_;
  }

  const Json& document() const { return document_; }

 private:
  // Returns the schema of the body of an error response (Google AIP-193).
  static Json ErrorSchema() {
    const auto text = [](const char* description) {
      return Json{{"type", "string"}, {"description", description}};
    };
    const Json violation = {{"type", "object"},
                            {"required", {"field", "description"}},
                            {"properties",
                             {{"field", text("Name of the query parameter or field.")},
                              {"description", text("Why it is invalid, and what is valid.")}}}};
    const Json detail = {
        {"type", "object"},
        {"required", {"@type"}},
        {"properties",
         {{"@type", text("type.googleapis.com/google.rpc.ErrorInfo, BadRequest or RetryInfo.")},
          {"reason", text("ErrorInfo: machine-readable reason, for example UNKNOWN_JOB.")},
          {"domain", text("ErrorInfo: always rocescope.")},
          {"field_violations",
           {{"type", "array"},
            {"description", "BadRequest: the invalid parameters."},
            {"items", violation}}},
          {"retry_delay", text("RetryInfo: delay before a retry, for example 1s.")}}}};
    const Json error = {{"type", "object"},
                        {"required", {"code", "message", "status", "details"}},
                        {"properties",
                         {{"code", {{"type", "integer"}, {"description", "HTTP status."}}},
                          {"message", text("What failed and what to do.")},
                          {"status", text("gRPC status code, for example NOT_FOUND.")},
                          {"details", {{"type", "array"}, {"items", detail}}}}}};
    return {{"type", "object"}, {"required", {"error"}}, {"properties", {{"error", error}}}};
  }

  void AddCall(const MethodDescriptor& method) {
    const auto& options = OptionsOf(method);
    const bool is_post = !options.http_post().empty();
    const std::string& path = is_post ? options.http_post() : options.http_get();
    if (path.empty()) return;  // gRPC only
    const bool has_both = is_post && !options.http_get().empty();
    if (has_both || (is_post && method.server_streaming())) {
      std::cerr << method.full_name() << ": http_post excludes http_get and streams\n";
      is_well_ = false;
    }
    Json call = {{"operationId", method.service()->name() + "." + method.name()},
                 {"tags", {method.service()->name()}}};
    Describe(CommentOf(method), call);
    if (is_post) {
      call["requestBody"] = RequestBodyOf(*method.input_type());
    } else {
      Json parameters = ParametersOf(path, *method.input_type());
      if (!parameters.empty()) call["parameters"] = std::move(parameters);
    }
    const Json body = {{"schema", RefTo(NameOf(*method.output_type()))}};
    Json& responses = call["responses"];
    if (method.server_streaming()) {
      responses["200"] = {
          {"description", "Server-sent events. Each data field is a JSON object of the type " +
                              NameOf(*method.output_type()) + "."},
          {"content", {{"text/event-stream", Json::object()}}}};
    } else {
      responses["200"] = {{"description", NameOf(*method.output_type())},
                          {"content", {{"application/json", body}}}};
    }
    responses["default"] = {{"description", "Error"},
                            {"content", {{"application/json", {{"schema", RefTo("Error")}}}}}};
    if (document_["paths"].contains(path)) {
      std::cerr << path << ": two calls have this path\n";
      is_well_ = false;
    }
    document_["paths"][path][is_post ? "post" : "get"] = std::move(call);
    AddSchema(*method.output_type());
  }

  // Unlike those of a response, the fields of a request are optional, unless their comments say
  // that they are required.
  Json RequestBodyOf(const Descriptor& request) {
    Json properties = Json::object();
    Json required = Json::array();
    for (int i = 0; i < request.field_count(); ++i) {
      const FieldDescriptor& field = *request.field(i);
      if (field.is_repeated() ||
          (field.message_type() != nullptr && !IsTimestamp(field) && !IsDuration(field))) {
        std::cerr << field.full_name() << ": FillFromJson does not support this type of field\n";
        is_well_ = false;
      }
      Json schema = SchemaOf(field);
      Describe(CommentOf(field), schema);
      if (CommentOf(field).starts_with("Required: ")) required.push_back(field.name());
      properties[field.name()] = std::move(schema);
      if (field.enum_type() != nullptr) AddSchema(*field.enum_type());
    }
    Json schema = {
        {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    if (!required.empty()) schema["required"] = std::move(required);
    return {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
  }

  Json ParametersOf(const std::string& path, const Descriptor& request) {
    Json parameters = Json::array();
    for (int i = 0; i < request.field_count(); ++i) {
      const FieldDescriptor& field = *request.field(i);
      parameters.push_back(ParameterOf(path, field, CommentOf(field)));
      if (field.enum_type() != nullptr) AddSchema(*field.enum_type());
    }
    return parameters;
  }

  static Json ParameterOf(const std::string& path, const FieldDescriptor& field,
                          const std::string& comment) {
    const bool in_path = path.find("{" + field.name() + "}") != std::string::npos;
    Json parameter = {{"name", field.name()}, {"in", in_path ? "path" : "query"}};
    if (in_path || comment.starts_with("Required: ")) parameter["required"] = true;
    Describe(comment, parameter);
    if (field.is_repeated()) {
      parameter["style"] = "form";
      parameter["explode"] = false;
      parameter["schema"] = {{"type", "array"}, {"items", ParameterSchemaOf(field)}};
    } else {
      parameter["schema"] = ParameterSchemaOf(field);
    }
    return parameter;
  }

  void AddSchema(const EnumDescriptor& type) {
    if (!added_.insert(type.full_name()).second) return;
    Json schema = {{"type", "string"}, {"enum", rocescope::EnumeratorNames(type)}};
    Describe(CommentOf(type), schema);
    schemas_[NameOf(type)] = std::move(schema);
  }

  void AddSchema(const Descriptor& message) {
    if (!added_.insert(message.full_name()).second) return;
    Json properties = Json::object();
    Json required = Json::array();
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (field.is_map() || field.real_containing_oneof() != nullptr ||
          field.type() == FieldDescriptor::TYPE_BYTES) {
        std::cerr << field.full_name() << ": AppendJson does not support this type of field\n";
        is_well_ = false;
      }
      Json schema = SchemaOf(field);
      if (field.is_repeated()) schema = {{"type", "array"}, {"items", std::move(schema)}};
      Describe(CommentOf(field), schema);
      properties[field.name()] = std::move(schema);
      if (!field.has_presence()) required.push_back(field.name());
    }
    Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    Describe(CommentOf(message), schema);
    schemas_[NameOf(message)] = std::move(schema);
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      const bool is_own =
          field.message_type() != nullptr && !IsTimestamp(field) && !IsDuration(field);
      if (is_own) AddSchema(*field.message_type());
      if (field.enum_type() != nullptr) AddSchema(*field.enum_type());
    }
  }

  const FileDescriptor& file_;
  Json document_;
  Json schemas_ = Json::object();
  std::set<std::string> added_;
  bool is_well_ = true;
};

// Writes the types of the JSON responses of the calls with an HTTP path.
class TypeScript {
 public:
  std::string Write(const FileDescriptor& file) {
    text_ =
        "// SPDX-License-Identifier: BSD-3-Clause\n"
        "// Generated by appliance/api/api_generator.cc. Do not edit. The comments of "
        "service.proto,\n"
        "// fabric.proto, finding_review.proto, history.proto, report.proto and diagnosis.proto "
        "describe\n// the fields.\n\n"
        "// A 64-bit integer. JSON has it as a string, because a number would lose digits.\n"
        "export type Int64 = string;\n"
        "// A time in RFC 3339 format, with up to nine digits after the second.\n"
        "export type Timestamp = string;\n"
        "// Seconds with the suffix \"s\", for example \"0.000125s\".\n"
        "export type Duration = string;\n";
    for (int i = 0; i < file.service_count(); ++i) {
      for (int j = 0; j < file.service(i)->method_count(); ++j) {
        const MethodDescriptor& method = *file.service(i)->method(j);
        const auto& options = OptionsOf(method);
        if (!options.http_get().empty() || !options.http_post().empty()) Add(*method.output_type());
      }
    }
    return text_;
  }

 private:
  template <typename Named>
  static std::string TypeName(const Named& type) {
    return std::regex_replace(NameOf(type), std::regex("[.]"), "");
  }

  static std::string TypeOf(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_UINT32:
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return "number";
      case FieldDescriptor::CPPTYPE_INT64:
      case FieldDescriptor::CPPTYPE_UINT64:
        return "Int64";
      case FieldDescriptor::CPPTYPE_BOOL:
        return "boolean";
      case FieldDescriptor::CPPTYPE_ENUM:
        return TypeName(*field.enum_type());
      case FieldDescriptor::CPPTYPE_STRING:
        return "string";
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (IsTimestamp(field)) return "Timestamp";
        if (IsDuration(field)) return "Duration";
        return TypeName(*field.message_type());
    }
    return "unknown";
  }

  void Add(const EnumDescriptor& type) {
    if (!added_.insert(type.full_name()).second) return;
    text_ += "\nexport type " + TypeName(type) + " =";
    for (const std::string& name : rocescope::EnumeratorNames(type)) {
      text_ += "\n  | \"" + name + "\"";
    }
    text_ += ";\n";
  }

  void Add(const Descriptor& message) {
    if (!added_.insert(message.full_name()).second) return;
    std::string own = "\nexport interface " + TypeName(message) + " {\n";
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (field.enum_type() != nullptr) Add(*field.enum_type());
      if (is_message && !IsTimestamp(field) && !IsDuration(field)) Add(*field.message_type());
      own += "  " + field.name() + (field.has_presence() ? "?: " : ": ") + TypeOf(field) +
             (field.is_repeated() ? "[];\n" : ";\n");
    }
    text_ += own + "}\n";
  }

  std::string text_;
  std::set<std::string> added_;
};

// Returns the constant of role.h: kReadAccess for ACCESS_READ.
std::string RolesName(rocescope::v1::Access access) {
  std::string name = rocescope::v1::Access_Name(access).substr(std::string("ACCESS_").size());
  std::transform(name.begin() + 1, name.end(), name.begin() + 1,
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return "k" + name + "Access";
}

// Writes a line for each call: ROCESCOPE_CALL(service, call, request, response, HTTP path, access),
// ROCESCOPE_POST for calls with an HTTP POST path, or ROCESCOPE_STREAM for calls with streams,
// between ROCESCOPE_SERVICE_BEGIN and ROCESCOPE_SERVICE_END. Users define the macros that they
// need; the file defines the others as empty, ROCESCOPE_POST as ROCESCOPE_CALL, and removes all of
// them at its end.
std::string WriteCalls(const std::vector<const FileDescriptor*>& files) {
  const std::vector<std::string> macros = {
      "SERVICE_BEGIN(service)", "SERVICE_END(service)",
      "CALL(service, name, request, response, path, access)",
      "STREAM(service, name, request, response, path, access)"};
  const auto name_of = [](const std::string& macro) { return macro.substr(0, macro.find('(')); };
  std::string text = "// SPDX-License-Identifier: BSD-3-Clause\n// Generated by api_generator.\n";
  for (const std::string& macro : macros) {
    text += "#ifndef ROCESCOPE_" + name_of(macro) + "\n#define ROCESCOPE_" + macro + "\n#endif\n";
  }
  text += "#ifndef ROCESCOPE_POST\n#define ROCESCOPE_POST ROCESCOPE_CALL\n#endif\n";
  for (const FileDescriptor* file : files) {
    for (int i = 0; i < file->service_count(); ++i) {
      const auto& service = *file->service(i);
      text += "ROCESCOPE_SERVICE_BEGIN(" + service.name() + ")\n";
      for (int j = 0; j < service.method_count(); ++j) {
        const MethodDescriptor& method = *service.method(j);
        const auto& options = OptionsOf(method);
        const bool streams = method.client_streaming() || method.server_streaming();
        const bool is_post = !options.http_post().empty();
        text += std::string(streams   ? "ROCESCOPE_STREAM("
                            : is_post ? "ROCESCOPE_POST("
                                      : "ROCESCOPE_CALL(") +
                service.name() + ", " + method.name() + ", " + method.input_type()->name() + ", " +
                method.output_type()->name() + ", \"" +
                (is_post ? options.http_post() : options.http_get()) + "\", " +
                RolesName(options.access()) + ")\n";
      }
      text += "ROCESCOPE_SERVICE_END(" + service.name() + ")\n";
    }
  }
  for (const std::string& macro : macros) text += "#undef ROCESCOPE_" + name_of(macro) + "\n";
  text += "#undef ROCESCOPE_POST\n";
  return text;
}

// Prints the calls without the option (call).access.
bool HaveAccess(const std::vector<const FileDescriptor*>& files) {
  bool all = true;
  for (const FileDescriptor* file : files) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        const MethodDescriptor& method = *file->service(i)->method(j);
        if (OptionsOf(method).access() != rocescope::v1::ACCESS_UNSPECIFIED) continue;
        std::cerr << method.full_name() << ": the option (call).access is missing\n";
        all = false;
      }
    }
  }
  return all;
}

bool WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (out.flush()) return true;
  std::cerr << path.string() << ": cannot write\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: api_generator DESCRIPTORS VERSION FOLDER\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromIstream(&file)) {
    std::cerr << argv[1] << ": not a file descriptor set\n";
    return 1;
  }
  google::protobuf::DescriptorPool pool;  // imported files come first
  for (const auto& one : set.file()) pool.BuildFile(one);
  std::vector<const FileDescriptor*> files;
  for (const char* name : {"rocescope/v1/service.proto", "rocescope/v1/agent.proto"}) {
    files.push_back(pool.FindFileByName(name));
    if (files.back() == nullptr) {
      std::cerr << argv[1] << ": file not found in the descriptor set: " << name << '\n';
      return 1;
    }
  }
  const std::filesystem::path folder = argv[3];
  OpenApi open_api(*files.front());
  const std::filesystem::path generated = folder / "generated/rocescope/v1";
  if (!open_api.Run(argv[2]) || !HaveAccess(files)) return 1;
  if (!AreDescriptionsWhole(open_api.document())) return 1;
  const bool written = WriteFile(folder / "openapi.json", open_api.document().dump(1) + '\n') &&
                       WriteFile(folder / "messages.ts", TypeScript().Write(*files.front())) &&
                       WriteFile(generated / "calls.inc", WriteCalls(files)) &&
                       WriteFile(generated / "service_calls.inc", WriteCalls({files.front()}));
  return written ? 0 : 1;
}
