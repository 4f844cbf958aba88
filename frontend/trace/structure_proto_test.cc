// The nesting of a model's outputs is the same after it was stored.
#include "frontend/trace/structure_proto.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/trace/structure.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

c10::TupleTypePtr NamedPair(const std::string& name,
                            const c10::TypePtr& second) {
  return c10::TupleType::createNamed(
      c10::QualifiedName(name), std::vector<std::string>{"first", "second"},
      {c10::TensorType::get(), second});
}

c10::IValue Pair(const c10::TupleTypePtr& type, const c10::IValue& second) {
  return c10::ivalue::Tuple::createNamed({torch::ones({2}), second}, type);
}

// `value` taken apart and put together again by its stored nesting.
c10::IValue StoreAndLoad(const c10::IValue& value) {
  const Structure structure = NestingOf({value});
  const absl::StatusOr<StructureProto> proto = ToProto(structure);
  EXPECT_TRUE(proto.ok()) << proto.status();
  if (!proto.ok()) return c10::IValue();
  const absl::StatusOr<Structure> read = FromProto(*proto);
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok()) return c10::IValue();
  const auto leaves = FlattenLeaves(structure, {value});
  EXPECT_TRUE(leaves.ok()) << leaves.status();
  std::vector<c10::IValue> values;
  for (const OwnedValue& leaf : *leaves)
    values.push_back(ToIValue(leaf.value, leaf.owner));
  const absl::StatusOr<c10::IValue> made = UnflattenLeaves(*read, values);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? made->toTupleRef().elements()[0] : c10::IValue();
}

TEST(StructureProto, KeepsNamedTuplesInListsAndDicts) {
  const auto type = NamedPair("__torch__.models.Pair", c10::IntType::get());
  c10::impl::GenericList list(type);
  list.push_back(Pair(type, 1));
  list.push_back(Pair(type, 2));
  c10::impl::GenericDict dict(c10::StringType::get(),
                              c10::ListType::create(type));
  dict.insert("pairs", list);
  for (const c10::IValue& value :
       {c10::IValue(list), c10::IValue(dict), Pair(type, 3)}) {
    const c10::IValue loaded = StoreAndLoad(value);
    EXPECT_EQ(loaded.type()->annotation_str(), value.type()->annotation_str());
  }
  const c10::IValue first = StoreAndLoad(list).toListRef()[0];
  const auto tuple = first.type()->cast<c10::TupleType>();
  ASSERT_TRUE(tuple != nullptr && tuple->schema() != nullptr);
  EXPECT_EQ(tuple->schema()->arguments()[1].name(), "second");
  EXPECT_EQ(*tuple, *type);
}

TEST(StructureProto, KeepsNamedTuplesInNamedTuples) {
  const auto inner = NamedPair("__torch__.Inner", c10::FloatType::get());
  const auto outer =
      NamedPair("__torch__.___torch_mangle_0.Outer",
                c10::ListType::create(c10::OptionalType::create(inner)));
  c10::impl::GenericList optional(c10::OptionalType::create(inner));
  optional.push_back(Pair(inner, 1.5));
  optional.push_back(c10::IValue());
  c10::impl::GenericList list(outer);
  list.push_back(Pair(outer, optional));
  for (const c10::IValue& value : {c10::IValue(list), Pair(outer, optional)}) {
    const c10::IValue loaded = StoreAndLoad(value);
    EXPECT_EQ(*loaded.type(), *value.type());
  }
}

TEST(StructureProto, RefusesDamagedNamedTuples) {
  const auto type = NamedPair("__torch__.Pair", c10::IntType::get());
  c10::impl::GenericList list(type);
  list.push_back(Pair(type, 1));
  auto proto = ToProto(NestingOf({list}));
  ASSERT_TRUE(proto.ok()) << proto.status();
  StructureProto* const stored = proto->mutable_children(0);
  ASSERT_EQ(stored->named_tuples_size(), 1);
  auto error = [&] { return FromProto(*proto).status().ToString(); };
  stored->mutable_named_tuples(0)->add_field_names("third");
  EXPECT_THAT(error(), HasSubstr("a named tuple with other fields"));
  stored->mutable_named_tuples(0)->mutable_field_names()->RemoveLast();
  stored->mutable_named_tuples(0)->set_field_types(1, "__torch__.Pair");
  EXPECT_THAT(error(), HasSubstr("the type '__torch__.Pair'"));
  stored->clear_named_tuples();
  EXPECT_THAT(error(), HasSubstr("the type 'List[__torch__.Pair]'"));
}

}  // namespace
}  // namespace aitune::frontend
