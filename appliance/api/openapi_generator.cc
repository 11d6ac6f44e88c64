// SPDX-License-Identifier: BSD-3-Clause
// usage: openapi_generator DESCRIPTORS PROTO VERSION > openapi.json
//
// Writes an OpenAPI 3.1 document of the calls in PROTO. DESCRIPTORS is the output of protoc with
// --include_source_info. The fields of a request become parameters. Response bodies follow the JSON
// mapping of AppendJson: proto field names, all fields except unset messages, 64-bit integers as
// strings. Comments become descriptions. "GET /PATH" in the comment of a call gives its path; calls
// without it are gRPC only. "over HTTP: ?NAME=..." in the comment of a request field gives query
// parameters that replace the fields.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
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

std::string NameOf(const Descriptor& message) {
  return message.full_name().substr(message.file()->package().size() + 1);
}
std::string NameOf(const EnumDescriptor& type) {
  return type.full_name().substr(type.file()->package().size() + 1);
}

Json RefTo(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

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

class Generator {
 public:
  explicit Generator(const FileDescriptor& file) : file_(file) {}

  // Returns false and prints an error if the messages do not fit the JSON mapping.
  bool Run(const std::string& version) {
    document_ = {
        {"openapi", "3.1.0"},
        {"info",
         {{"title", "rocescope"},
          {"version", version},
          {"description",
           "HTTP API of a running rocescope appliance. Fields whose names end in _ns are in "
           "nanoseconds; points in time are nanoseconds since the Unix epoch. New versions "
           "may add fields but do not change the meaning of existing ones."},
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
    std::string comment = CommentOf(method);
    static const std::regex kPath("GET (/[A-Za-z0-9_/{}-]+)[:.]? ?");
    std::smatch found;
    if (!std::regex_search(comment, found, kPath)) return;  // gRPC only
    const std::string path = found[1];
    comment = found.prefix().str() + found.suffix().str();
    Json call = {{"operationId", method.service()->name() + "." + method.name()},
                 {"tags", {method.service()->name()}}};
    Describe(comment, call);
    Json parameters = ParametersOf(path, *method.input_type());
    if (!parameters.empty()) call["parameters"] = std::move(parameters);
    const Json body = {{"schema", RefTo(NameOf(*method.output_type()))}};
    Json& responses = call["responses"];
    if (method.server_streaming()) {
      responses["200"] = {
          {"description", "Server-sent events. Each data field is a JSON object of the type " +
                              NameOf(*method.output_type())},
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
    document_["paths"][path]["get"] = std::move(call);
    AddSchema(*method.output_type());
  }

  Json ParametersOf(const std::string& path, const Descriptor& request) {
    Json parameters = Json::array();
    static const std::regex kOther("\\?([a-z_]+)=");
    for (int i = 0; i < request.field_count(); ++i) {
      const FieldDescriptor& field = *request.field(i);
      const std::string comment = CommentOf(field);
      const size_t other = comment.find("over HTTP: ?");
      if (other == std::string::npos) {
        parameters.push_back(ParameterOf(path, field, comment));
        continue;
      }
      parameters = Json::array();
      for (std::sregex_iterator at(comment.begin() + static_cast<std::ptrdiff_t>(other),
                                   comment.end(), kOther);
           at != std::sregex_iterator(); ++at) {
        parameters.push_back({{"name", (*at)[1].str()},
                              {"in", "query"},
                              {"description",
                               "Exactly one of blast_radius and needs is required. blast_radius "
                               "returns the elements that depend on the given element; needs "
                               "returns the elements on which it depends. The element is a node, "
                               "port NODE:PORT, NIC HOST:NIC, GPU HOST:gpu:NUMBER, link, or job."},
                              {"schema", {{"type", "string"}}}});
      }
      return parameters;
    }
    return parameters;
  }

  static Json ParameterOf(const std::string& path, const FieldDescriptor& field,
                          const std::string& comment) {
    const bool in_path = path.find("{" + field.name() + "}") != std::string::npos;
    Json parameter = {{"name", field.name()}, {"in", in_path ? "path" : "query"}};
    if (in_path) parameter["required"] = true;
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
    Json values = Json::array();
    for (int i = 0; i < type.value_count(); ++i) values.push_back(type.value(i)->name());
    Json schema = {{"type", "string"}, {"enum", std::move(values)}};
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
      const bool may_lack =
          field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
      if (!may_lack) required.push_back(field.name());
    }
    Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    Describe(CommentOf(message), schema);
    schemas_[NameOf(message)] = std::move(schema);
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (field.message_type() != nullptr) AddSchema(*field.message_type());
      if (field.enum_type() != nullptr) AddSchema(*field.enum_type());
    }
  }

  const FileDescriptor& file_;
  Json document_;
  Json schemas_ = Json::object();
  std::set<std::string> added_;
  bool is_well_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: openapi_generator DESCRIPTORS PROTO VERSION\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromIstream(&file)) {
    std::cerr << argv[1] << ": not a file descriptor set\n";
    return 1;
  }
  google::protobuf::DescriptorPool pool;  // imported files come first
  for (const auto& one : files.file()) pool.BuildFile(one);
  const FileDescriptor* const proto = pool.FindFileByName(argv[2]);
  if (proto == nullptr) {
    std::cerr << argv[1] << ": file not found in the descriptor set: " << argv[2] << '\n';
    return 1;
  }
  Generator generator(*proto);
  if (!generator.Run(argv[3])) return 1;
  std::cout << generator.document().dump(1) << '\n';
  return std::cout.flush() ? 0 : 1;
}
