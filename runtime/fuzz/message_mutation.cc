#include "runtime/fuzz/message_mutation.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace aitune {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The most parts that are looked at: a message of more is changed in its first.
constexpr size_t kMostParts = 2000;

// The message and all parts of it, outer ones first.
template <typename M>
std::vector<M*> PartsOf(M& message) {
  std::vector<M*> parts = {&message};
  for (size_t i = 0; i < parts.size() && parts.size() < kMostParts; ++i) {
    M& part = *parts[i];
    const Reflection* reflection = part.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(part, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const int count =
          field->is_repeated() ? reflection->FieldSize(part, field) : 1;
      for (int at = 0; at < count; ++at) {
        if constexpr (std::is_const_v<M>) {
          parts.push_back(field->is_repeated()
                              ? &reflection->GetRepeatedMessage(part, field, at)
                              : &reflection->GetMessage(part, field));
        } else {
          parts.push_back(
              field->is_repeated()
                  ? reflection->MutableRepeatedMessage(&part, field, at)
                  : reflection->MutableMessage(&part, field));
        }
      }
    }
  }
  return parts;
}

int64_t ANumber(std::mt19937& random) {
  constexpr int64_t kNumbers[] = {-1,
                                  0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  1000,
                                  int64_t{1} << 31,
                                  int64_t{1} << 62,
                                  std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()};
  return kNumbers[random() % std::size(kNumbers)];
}

// Sets a field that is no message, or its element `at` if it is a list.
void SetNumber(Message& message, const FieldDescriptor* field, int at,
               int64_t number) {
  const Reflection* reflection = message.GetReflection();
  const bool repeated = field->is_repeated();
  const int32_t small = static_cast<int32_t>(number);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      repeated ? reflection->SetRepeatedInt64(&message, field, at, number)
               : reflection->SetInt64(&message, field, number);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      repeated ? reflection->SetRepeatedUInt64(&message, field, at, number)
               : reflection->SetUInt64(&message, field, number);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      repeated ? reflection->SetRepeatedInt32(&message, field, at, small)
               : reflection->SetInt32(&message, field, small);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      repeated ? reflection->SetRepeatedEnumValue(&message, field, at, small)
               : reflection->SetEnumValue(&message, field, small);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      repeated ? reflection->SetRepeatedBool(&message, field, at, number & 1)
               : reflection->SetBool(&message, field, number & 1);
      break;
    default:
      break;
  }
}

// Adds an element to a list: one that is there again, or a new one.
void AddElement(Message& part, const FieldDescriptor* field,
                std::mt19937& random) {
  const Reflection* reflection = part.GetReflection();
  const int count = reflection->FieldSize(part, field);
  const int from = count == 0 ? -1 : static_cast<int>(random() % count);
  const int32_t small = static_cast<int32_t>(ANumber(random));
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message* added = reflection->AddMessage(&part, field);
      if (from >= 0)
        added->CopyFrom(reflection->GetRepeatedMessage(part, field, from));
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64:
      reflection->AddInt64(
          &part, field,
          from < 0 ? small : reflection->GetRepeatedInt64(part, field, from));
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->AddInt32(
          &part, field,
          from < 0 ? small : reflection->GetRepeatedInt32(part, field, from));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->AddString(
          &part, field,
          from < 0 ? "" : reflection->GetRepeatedString(part, field, from));
      break;
    default:
      break;
  }
}

void ChangeAList(Message& part, const FieldDescriptor* field,
                 std::mt19937& random) {
  const Reflection* reflection = part.GetReflection();
  const int count = reflection->FieldSize(part, field);
  if (count == 0 || random() % 3 == 0) {
    AddElement(part, field, random);
    return;
  }
  const int at = static_cast<int>(random() % count);
  if (random() % 2 == 0) {
    reflection->SwapElements(&part, field, at,
                             static_cast<int>(random() % count));
    return;
  }
  reflection->SwapElements(&part, field, at, count - 1);
  reflection->RemoveLast(&part, field);
}

void ChangeAField(Message& part, const FieldDescriptor* field,
                  std::mt19937& random) {
  const Reflection* reflection = part.GetReflection();
  if (reflection->HasField(part, field) && random() % 2 == 0)
    reflection->ClearField(&part, field);
  else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    reflection->MutableMessage(&part, field);
  else if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT)
    reflection->SetFloat(&part, field, static_cast<float>(ANumber(random)));
  else if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    SetNumber(part, field, 0, ANumber(random));
}

// Changes a text: its end, a character, or all of it for another of `donor`.
void ChangeAText(Message& part, const FieldDescriptor* field,
                 const std::vector<const Message*>& donor,
                 std::mt19937& random) {
  const Reflection* reflection = part.GetReflection();
  std::string text = reflection->GetString(part, field);
  const size_t kind = random() % 4;
  if (kind == 0) {
    text.push_back(static_cast<char>('0' + random() % 75));
  } else if (kind == 1 && !text.empty()) {
    text[random() % text.size()] = static_cast<char>(random());
  } else if (kind == 2 && !text.empty()) {
    text.resize(random() % text.size());
  } else {
    const Message& other = *donor[random() % donor.size()];
    std::vector<const FieldDescriptor*> fields;
    other.GetReflection()->ListFields(other, &fields);
    for (const FieldDescriptor* of : fields) {
      if (of->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
          !of->is_repeated())
        text = other.GetReflection()->GetString(other, of);
    }
  }
  reflection->SetString(&part, field, text);
}

}  // namespace

void ChangeANumber(Message& message, std::mt19937& random) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  if (fields.empty()) return;
  const FieldDescriptor* field = fields[random() % fields.size()];
  const int64_t number = ANumber(random);
  const bool repeated = field->is_repeated();
  const int at =
      repeated
          ? static_cast<int>(random() % reflection->FieldSize(message, field))
          : 0;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    ChangeANumber(repeated
                      ? *reflection->MutableRepeatedMessage(&message, field, at)
                      : *reflection->MutableMessage(&message, field),
                  random);
  } else {
    SetNumber(message, field, at, number);
  }
}

void MutateMessage(Message& message, const Message& donor,
                   std::mt19937& random) {
  const std::vector<Message*> parts = PartsOf(message);
  Message& part = *parts[random() % parts.size()];
  const std::vector<const Message*> donors = PartsOf(donor);
  const int kind = static_cast<int>(random() % 8);
  if (kind < 3) {
    ChangeANumber(part, random);
    return;
  }
  if (kind == 3) {
    std::vector<const Message*> alike;
    for (const Message* other : donors) {
      if (other->GetDescriptor() == part.GetDescriptor() && other != &part)
        alike.push_back(other);
    }
    if (alike.empty()) return;
    // A copy first: `part` may be inside of it.
    const Message& other = *alike[random() % alike.size()];
    const std::unique_ptr<Message> copy(other.New());
    copy->CopyFrom(other);
    part.CopyFrom(*copy);
    return;
  }
  const int count = part.GetDescriptor()->field_count();
  if (count == 0) return;
  const FieldDescriptor* field =
      part.GetDescriptor()->field(static_cast<int>(random() % count));
  if (field->is_repeated())
    ChangeAList(part, field, random);
  else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    ChangeAText(part, field, donors, random);
  else
    ChangeAField(part, field, random);
}

}  // namespace aitune
