// What a region does with values and constants between its operators, and
// between calls: of traces written by hand, whose operators look at that.
#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/jit/api/compilation_unit.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/fallback.h"
#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Stack = std::vector<c10::IValue>;
using WeakTensor =
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

constexpr char kProgram[] = "prim::If";  // what LibTorch's registry has not

ArgumentTemplate ListOf(c10::TypePtr type,
                        std::vector<ArgumentTemplate> elements) {
  ArgumentTemplate list;
  list.kind = ArgumentTemplate::Kind::kList;
  list.type = std::move(type);
  list.children = std::move(elements);
  return list;
}

class FallbackRegionTest : public ::testing::Test {
 protected:
  ValueId Opaque() {
    TraceValue value;
    value.kind = TraceValue::Kind::kOpaque;
    trace_->values.push_back(std::move(value));
    return static_cast<ValueId>(trace_->values.size() - 1);
  }

  ValueId Constant(const at::Tensor& tensor) {
    const ValueId id = Opaque();
    TraceValue& value = trace_->values.back();
    value.kind = TraceValue::Kind::kConstant;
    value.constant = static_cast<int32_t>(trace_->constants.size());
    ConstantTensor constant;
    constant.view = ViewOf(tensor);
    constant.owner = std::make_shared<at::Tensor>(tensor);
    trace_->constants.push_back(std::move(constant));
    return id;
  }

  // `name` is that of the operator's schema.
  void Add(const std::string& name, std::vector<ArgumentTemplate> arguments,
           const std::vector<ValueId>& results, RecordedFunction run) {
    RecordedOp op;
    op.name = name;
    op.program.run = std::move(run);
    op.arguments = std::move(arguments);
    for (const ValueId id : results) {
      op.results.emplace_back();
      op.results.back().value = id;
    }
    ops_.push_back(static_cast<int>(trace_->ops.size()));
    trace_->ops.push_back(std::move(op));
    trace_->schemas.emplace_back(name, "");
  }

  std::unique_ptr<FallbackRegion> Make(const std::vector<ValueId>& inputs,
                                       const std::vector<ValueId>& outputs) {
    return MakeFallbackRegion(trace_, ops_, inputs, outputs);
  }

  // The results of a call, all of them opaque.
  static Stack Run(const FallbackRegion& region, const Stack& inputs,
                   size_t outputs) {
    std::vector<RegionValue> given, results(outputs, OpaqueValue());
    for (const c10::IValue& input : inputs)
      given.emplace_back(std::make_shared<c10::IValue>(input));
    const absl::Status status = region.Run(given, {}, absl::MakeSpan(results));
    EXPECT_TRUE(status.ok()) << status;
    Stack values;
    for (const RegionValue& result : results) {
      const auto& opaque = std::get<OpaqueValue>(result);
      values.push_back(opaque == nullptr
                           ? c10::IValue()
                           : *static_cast<c10::IValue*>(opaque.get()));
    }
    return values;
  }

  std::shared_ptr<RecordedTrace> trace_ = std::make_shared<RecordedTrace>();
  std::vector<int> ops_;
};

TEST_F(FallbackRegionTest, ValuesAreReleasedAfterTheirLastUse) {
  const ValueId made = Opaque(), unread = Opaque(), output = Opaque();
  WeakTensor weak_made(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>{});
  WeakTensor weak_unread = weak_made;
  const auto expired = std::make_shared<std::vector<bool>>();
  const auto look = [&, expired](Stack& stack) {
    expired->push_back(weak_made.expired());
    expired->push_back(weak_unread.expired());
    stack.clear();
  };
  Add(kProgram, {}, {made, unread, output}, [&](Stack& stack) {
    const at::Tensor first = at::ones({2}), second = at::ones({2});
    weak_made = WeakTensor(first.getIntrusivePtr());
    weak_unread = WeakTensor(second.getIntrusivePtr());
    stack = {first, second, at::full({2}, 3)};
  });
  Add(kProgram, {}, {}, look);
  // Read three times at once, in any place, and once after that.
  const ArgumentTemplate read = ArgumentTemplate::Value(made);
  Add(kProgram, {read, ListOf(c10::TensorType::get(), {read}), read}, {},
      [](Stack& stack) {
        const at::Tensor first = stack.at(0).toTensor();
        EXPECT_TRUE(first.is_same(stack.at(1).toTensorVector().at(0)));
        EXPECT_TRUE(first.is_same(stack.at(2).toTensor()));
        stack.clear();
      });
  Add(kProgram, {read, ArgumentTemplate::Value(output)}, {}, [](Stack& stack) {
    EXPECT_TRUE(stack.at(0).toTensor().equal(at::ones({2})));
    stack.clear();
  });
  Add(kProgram, {}, {}, look);
  const auto region = Make({}, {output});
  for (int call = 0; call < 2; ++call) {
    expired->clear();
    EXPECT_TRUE(Run(*region, {}, 1).at(0).toTensor().equal(at::full({2}, 3)));
    EXPECT_EQ(*expired, std::vector<bool>({false, true, true, true}));
  }
}

TEST_F(FallbackRegionTest, WhatItMakesItselfIsWrittenInPlace) {
  const ValueId index = Constant(at::tensor({1}, at::kLong)),
                source = Constant(at::ones({1}));
  const auto add = [&](ValueId to, ValueId result) {
    Add("aten::index_add",
        {ArgumentTemplate::Value(to), ArgumentTemplate::Fixed(int64_t{0}),
         ArgumentTemplate::Value(index), ArgumentTemplate::Value(source),
         ArgumentTemplate::Fixed(int64_t{1})},
        {result}, [](Stack& stack) {
          const at::Tensor sum = at::index_add(
              stack[0].toTensor(), stack[1].toInt(), stack[2].toTensor(),
              stack[3].toTensor(), stack[4].toScalar());
          stack = {sum};
        });
  };
  const ValueId filled = Opaque(), once = Opaque(), twice = Opaque(),
                kept = Opaque(), other = Opaque();
  const void* memory = nullptr;
  Add("aten::zeros", {}, {filled}, [&](Stack& stack) {
    stack = {at::zeros({3})};
    memory = stack[0].toTensor().data_ptr();
  });
  add(filled, once);
  add(once, twice);
  // What is read later stays as it is.
  Add("aten::zeros", {}, {kept},
      [](Stack& stack) { stack = {at::zeros({3})}; });
  add(kept, other);
  // Nor does a constant of zeros change.
  const ValueId zeros = Constant(at::zeros({3})), third = Opaque();
  add(zeros, third);
  const auto region = Make({}, {twice, kept, other, third});
  for (int call = 0; call < 2; ++call) {
    const Stack results = Run(*region, {}, 4);
    EXPECT_TRUE(results[3].toTensor().equal(at::tensor({0.f, 1.f, 0.f})));
    EXPECT_EQ(results[0].toTensor().data_ptr(), memory);
    EXPECT_TRUE(results[0].toTensor().equal(at::tensor({0.f, 2.f, 0.f})));
    EXPECT_TRUE(results[1].toTensor().equal(at::zeros({3})));
    EXPECT_TRUE(results[2].toTensor().equal(at::tensor({0.f, 1.f, 0.f})));
  }
}

TEST_F(FallbackRegionTest, WhatHasViewsIsNotWrittenInPlace) {
  const ValueId index = Constant(at::tensor({1}, at::kLong)),
                source = Constant(at::ones({1})), filled = Opaque(),
                view = Opaque(), sum = Opaque();
  Add("aten::zeros", {}, {filled},
      [](Stack& stack) { stack = {at::zeros({3})}; });
  Add("aten::slice", {ArgumentTemplate::Value(filled)}, {view},
      [](Stack& stack) { stack = {stack[0].toTensor().slice(0, 0, 3, 1)}; });
  Add("aten::index_add",
      {ArgumentTemplate::Value(filled), ArgumentTemplate::Fixed(int64_t{0}),
       ArgumentTemplate::Value(index), ArgumentTemplate::Value(source),
       ArgumentTemplate::Fixed(int64_t{1})},
      {sum}, [](Stack& stack) {
        const at::Tensor result = at::index_add(
            stack[0].toTensor(), 0, stack[2].toTensor(), stack[3].toTensor());
        stack = {result};
      });
  const auto region = Make({}, {view, sum});
  const Stack results = Run(*region, {}, 2);
  EXPECT_TRUE(results[0].toTensor().equal(at::zeros({3})));
  EXPECT_TRUE(results[1].toTensor().equal(at::tensor({0.f, 1.f, 0.f})));
}

TEST_F(FallbackRegionTest, KeysAreNoMemoryThatIsLent) {
  const at::Tensor lent = at::ones({2});
  const ValueId output = Opaque();
  Add(kProgram, {ArgumentTemplate::Value(Constant(lent))}, {output},
      [](Stack& stack) {
        c10::impl::GenericDict dict(c10::TensorType::get(),
                                    c10::IntType::get());
        dict.insert(stack.at(0), 5);
        stack = {dict};
      });
  const auto region = Make({}, {output});
  const auto dict = Run(*region, {}, 1).at(0).toGenericDict();
  lent.fill_(7);
  ASSERT_EQ(dict.size(), 1u);
  EXPECT_TRUE(dict.begin()->key().toTensor().equal(at::ones({2})));
}

TEST_F(FallbackRegionTest, ObjectsHoldNoMemoryThatIsLent) {
  const at::Tensor lent = at::ones({2});
  const ValueId output = Opaque();
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto type = c10::ClassType::create("__torch__.Pair", unit);
  type->addAttribute("x", c10::TensorType::get());
  type->addAttribute("others", c10::ListType::ofTensors());
  type->addAttribute("self", c10::OptionalType::create(type));
  unit->register_type(type);
  Add(kProgram, {ArgumentTemplate::Value(Constant(lent))}, {output},
      [&](Stack& stack) {
        const at::Tensor given = stack.at(0).toTensor();
        auto pair =
            c10::ivalue::Object::create(c10::StrongTypePtr(unit, type), 3);
        pair->setSlot(0, given);
        pair->setSlot(1, c10::List<at::Tensor>({given.slice(0, 1, 2)}));
        pair->setSlot(2, pair);
        stack = {pair};
      });
  const auto region = Make({}, {output});
  const auto pair = Run(*region, {}, 1).at(0).toObject();
  EXPECT_EQ(pair->getSlot(2).toObject().get(), pair.get());
  pair->setSlot(2, c10::IValue());
  lent.fill_(7);
  EXPECT_TRUE(pair->getSlot(0).toTensor().equal(at::ones({2})));
  EXPECT_TRUE(pair->getSlot(1).toTensorVector().at(0).equal(at::ones({1})));
}

TEST_F(FallbackRegionTest, AFailedCallLeavesNothingBehind) {
  const ValueId made = Opaque(), output = Opaque();
  WeakTensor weak(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>{});
  bool fails = true;
  Add(kProgram, {}, {made}, [&](Stack& stack) {
    const at::Tensor tensor = at::ones({2});
    weak = WeakTensor(tensor.getIntrusivePtr());
    stack = {tensor};
  });
  Add("test::fails", {ArgumentTemplate::Value(made)}, {output},
      [&](Stack& stack) {
        stack.emplace_back(1);
        if (fails) throw std::runtime_error("no luck");
        stack.assign(1, stack.at(0));
      });
  Add(kProgram, {ArgumentTemplate::Value(made)}, {},
      [](Stack& stack) { stack.clear(); });
  const auto region = Make({}, {output});
  std::vector<RegionValue> outputs = {OpaqueValue()};
  const absl::Status status = region->Run({}, {}, absl::MakeSpan(outputs));
  EXPECT_EQ(status.message(), "test::fails: no luck");
  EXPECT_TRUE(weak.expired());
  fails = false;
  EXPECT_TRUE(Run(*region, {}, 1).at(0).toTensor().equal(at::ones({2})));
}

// Made once for operators that change nothing, and anew for those that may:
// their changes of its sizes are for nobody else and for no later call.
TEST_F(FallbackRegionTest, ConstantsAreTheSameInEachCall) {
  const ValueId constant = Constant(at::arange(6).reshape({2, 3}));
  const ValueId before = Opaque(), program = Opaque(), after = Opaque();
  const ArgumentTemplate read = ArgumentTemplate::Value(constant);
  std::vector<const c10::TensorImpl*> tensors;
  const auto relu = [&](Stack& stack) {
    tensors.push_back(stack.at(0).toTensor().unsafeGetTensorImpl());
    stack = {at::relu(stack.at(0).toTensor())};
  };
  Add("aten::relu", {read}, {before}, relu);
  Add(kProgram, {read}, {program}, [](Stack& stack) {
    at::Tensor tensor = stack.at(0).toTensor();
    EXPECT_EQ(tensor.sizes(), at::IntArrayRef({2, 3}));
    tensor.t_();
  });
  Add("aten::relu", {read}, {after}, relu);
  const auto region = Make({}, {before, program, after, constant});
  std::vector<RegionValue> outputs(4, OpaqueValue());
  EXPECT_THAT(
      std::string(region->Run({}, {}, absl::MakeSpan(outputs)).message()),
      HasSubstr("prim::If, aten::relu: an output is not computed"));
  const auto all = Make({}, {before, program, after});
  tensors.clear();
  for (int call = 0; call < 3; ++call) {
    const Stack results = Run(*all, {}, 3);
    const at::Tensor expected = at::arange(6).reshape({2, 3});
    EXPECT_TRUE(results[0].toTensor().equal(expected));
    EXPECT_TRUE(results[1].toTensor().equal(expected.t()));
    EXPECT_TRUE(results[2].toTensor().equal(expected));
    // What is given away is no view of the constant.
    const c10::InferenceMode inference;
    for (const c10::IValue& result : results) result.toTensor().fill_(-1);
  }
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_THAT(tensors, Each(tensors[0]));
}

TEST_F(FallbackRegionTest, ListsThatAProgramChangesAreMadeAnew) {
  const ArgumentTemplate list =
      ListOf(c10::IntType::get(),
             {ArgumentTemplate::Fixed(1), ArgumentTemplate::Fixed(0)});
  const ValueId input = Opaque(), changed = Opaque(), permuted = Opaque();
  Add(kProgram, {list}, {changed},
      [](Stack& stack) { stack.at(0).toList().push_back(7); });
  Add("aten::permute", {ArgumentTemplate::Value(input), list}, {permuted},
      [](Stack& stack) {
        stack = {
            at::permute(stack.at(0).toTensor(), stack.at(1).toIntVector())};
      });
  const auto region = Make({input}, {changed, permuted});
  for (int call = 0; call < 2; ++call) {
    const Stack results = Run(*region, {at::ones({2, 3})}, 2);
    EXPECT_EQ(results[0].toIntVector(), std::vector<int64_t>({1, 0, 7}));
    EXPECT_EQ(results[1].toTensor().sizes(), at::IntArrayRef({3, 2}));
  }
}

// Two threads meet within the region, and each calls it again from there.
TEST_F(FallbackRegionTest, CallsAtTheSameTimeHaveTheirOwnValues) {
  const ValueId input = Opaque(), kept = Opaque(), output = Opaque();
  const ValueId constant = Constant(at::ones({}, at::kLong));
  const FallbackRegion* region = nullptr;
  std::atomic<int> there = 0;
  const ArgumentTemplate read = ArgumentTemplate::Value(input);
  Add("aten::neg", {read}, {kept},
      [](Stack& stack) { stack = {at::neg(stack.at(0).toTensor())}; });
  Add(kProgram, {read}, {}, [&](Stack& stack) {
    const at::Tensor value = stack.at(0).toTensor();
    stack.clear();
    if (value.item<int64_t>() >= 100) return;
    ++there;
    while (there < 2) std::this_thread::yield();
    EXPECT_EQ(Run(*region, {value + 100}, 1).at(0).toTensor().item<int64_t>(),
              -value.item<int64_t>() - 99);
  });
  Add(kProgram,
      {ArgumentTemplate::Value(kept), ArgumentTemplate::Value(constant)},
      {output}, [](Stack& stack) {
        stack = {at::add(stack.at(0).toTensor(), stack.at(1).toTensor())};
      });
  const auto made = Make({input}, {output});
  region = made.get();
  std::vector<int64_t> results(2);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int call = 0; call < 50; ++call) {
        results[static_cast<size_t>(t)] =
            Run(*region, {at::full({}, t + 1, at::kLong)}, 1)
                .at(0)
                .toTensor()
                .item<int64_t>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<int64_t>({0, -1}));
}

// The memory of what a region is given is used for other values later.
TEST_F(FallbackRegionTest, WhatIsKeptIsCopied) {
  const ValueId indices = Opaque(), values = Opaque(), sparse = Opaque(),
                packed = Opaque();
  const std::vector<ArgumentTemplate> both = {ArgumentTemplate::Value(indices),
                                              ArgumentTemplate::Value(values)};
  Add("aten::sparse_coo_tensor", both, {sparse}, [](Stack& stack) {
    stack = {at::sparse_coo_tensor(stack.at(0).toTensor(),
                                   stack.at(1).toTensor(), {3})};
  });
  // Gives an object, of which nobody can know what it keeps.
  Add("quantized::linear_prepack", both, {packed}, [](Stack& stack) {
    const at::Tensor kept = stack.at(1).toTensor();
    stack = {c10::ivalue::Tuple::create({kept})};
  });
  const auto region = Make({indices, values}, {sparse, packed});
  at::Tensor where = at::full({1, 2}, 1, at::kLong), what = at::ones({2});
  std::vector<RegionValue> outputs = {OpaqueValue(), OpaqueValue()};
  const absl::Status status =
      region->Run({ViewOf(where), ViewOf(what)}, {}, absl::MakeSpan(outputs));
  ASSERT_TRUE(status.ok()) << status;
  where.fill_(1 << 20);
  what.fill_(7);
  const auto value = [&](size_t i) {
    return *static_cast<c10::IValue*>(std::get<OpaqueValue>(outputs[i]).get());
  };
  EXPECT_TRUE(
      value(0).toTensor().to_dense().equal(at::tensor({0.0F, 2.0F, 0.0F})));
  EXPECT_TRUE(
      value(1).toTuple()->elements()[0].toTensor().equal(at::ones({2})));
}

}  // namespace
}  // namespace aitune::frontend
