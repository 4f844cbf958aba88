#include "frontend/torchscript/input_queries.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

InputQueries Queries(const std::string& body) {
  const auto model = Model::FromSource(
      absl::StrCat("def forward(self, x: Tensor, y: Tensor):\n", body));
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? FindInputQueries(*model) : InputQueries();
}

const at::Tensor& Transposed() {
  static const at::Tensor tensor = at::rand({3, 4}).t();
  return tensor;
}

TEST(InputQueries, FindWhatAProgramAsks) {
  const auto layout = [](const std::string& body) {
    const InputQueries found = Queries(body);
    EXPECT_EQ(found.layout.size(), 1) << body;
    return found.layout.empty() ? LayoutQuery() : found.layout[0];
  };
  for (const char* call : {"x.storage_offset()", "x.as_strided_([1], [1])",
                           "torch.as_strided_copy(x, [1], [1])"}) {
    const LayoutQuery query = layout(absl::StrCat("  return ", call, "\n"));
    EXPECT_TRUE(query.sees_offset) << call;
    EXPECT_THAT(query.arguments, ElementsAre(0)) << call;
  }
  const LayoutQuery stride = layout("  return x.stride(0)\n");
  EXPECT_THAT(stride.call, StartsWith("aten::stride"));
  EXPECT_FALSE(stride.sees_offset);
  EXPECT_THAT(Queries("  return x is y\n").identity,
              StartsWith("aten::__is__"));
  EXPECT_THAT(Queries("  return x.requires_grad\n").gradient,
              StartsWith("prim::requires_grad"));
  const InputQueries none = Queries("  return x + y, x is None\n");
  EXPECT_THAT(none.layout, IsEmpty());
  EXPECT_THAT(none.identity + none.gradient + none.write, IsEmpty());
}

// What a list holds may be an argument, but what an operator makes is none,
// whatever lists change; and lists of numbers hold no tensors.
TEST(InputQueries, WritesToNewTensorsAreNoneWhereListsChange) {
  EXPECT_THAT(Queries("  m = torch.zeros_like(x).masked_fill_(y > 0, 1.0)\n"
                      "  l = [x]\n  l.append(m)\n  return x + l[1]\n")
                  .write,
              IsEmpty());
  EXPECT_THAT(Queries("  l = [x]\n  l.append(torch.zeros_like(x))\n"
                      "  return l[0].add_(1)\n")
                  .write,
              StartsWith("aten::add_"));
  EXPECT_THAT(Queries("  l = list(torch.relu(x).chunk(2))\n  l.append(y)\n"
                      "  return l[2].add_(1)\n")
                  .write,
              StartsWith("aten::add_"));
  EXPECT_THAT(Queries("  l: List[bool] = []\n  l.append(x.dim() > 1)\n"
                      "  return torch.relu(x).chunk(2)[0].add_(y)\n")
                  .write,
              IsEmpty());
}

// An operator that may give its argument itself, whether its schema says so or
// not.
TEST(InputQueries, WritesThroughWhatMayBeTheArgument) {
  for (const char* given :
       {"x.to_dense()", "torch.dequantize(x)", "torch._cast_Float(x)",
        "torch.lift(x)", "torch.chain_matmul([x])",
        "torch.dropout(x, 0.0, "
        "False)",
        "torch.pixel_shuffle(x, 1)"}) {
    const InputQueries found =
        Queries(absl::StrCat("  return ", given, ".add_(1)\n"));
    EXPECT_THAT(found.write, StartsWith("aten::add_")) << given;
    EXPECT_THAT(found.written_arguments, ElementsAre(0)) << given;
  }
}

// Which method of an interface is called, is known to the call alone.
TEST(InputQueries, MethodsOfInterfacesMayWriteToWhatTheyAreGiven) {
  const auto written = [](const std::string& body) {
    torch::jit::Module module("__torch__.Whole");
    const auto unit = module._ivalue()->compilation_unit();
    const auto part =
        c10::InterfaceType::create("__torch__.Part", /*is_module=*/true);
    part->addMethod(
        c10::FunctionSchema("forward", "",
                            {c10::Argument("self", part),
                             c10::Argument("t", c10::TensorType::get())},
                            {c10::Argument("", c10::TensorType::get())}));
    unit->register_type(part);
    torch::jit::Module one("__torch__.One", unit);
    one.define("def forward(self, t: Tensor):\n  return t.mul_(2)\n");
    module.register_module("one", one);
    module.register_attribute("part", part, one._ivalue());
    module.define(
        absl::StrCat("def forward(self, x: Tensor, y: Tensor):\n", body));
    const auto model = Model::FromModule(module);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? FindInputQueries(*model).written_arguments
                      : std::set<int>();
  };
  EXPECT_THAT(written("  return self.part.forward(y)\n"), ElementsAre(1));
  EXPECT_THAT(written("  x.add_(1)\n  return self.part.forward(y) * x\n"),
              ElementsAre(0, 1));
  EXPECT_THAT(written("  return self.part.forward(torch.relu(y)) * x\n"),
              IsEmpty());
}

TEST(InputQueries, TheModeInWhichTensorsAreMadeIsTheCallers) {
  EXPECT_THAT(Queries("  if x.is_inference():\n    return x + 1\n"
                      "  return x - 1\n")
                  .own_arguments,
              StartsWith("aten::is_inference"));
}

// Of normalisations, whose schemas do not say that they update statistics.
TEST(InputQueries, FindHiddenWritesToArguments) {
  const auto write = [](const char* training) {
    return Queries(absl::StrCat(
                       "  return torch.batch_norm(x, None, None, y, y + 0, ",
                       training, ", 0.1, 1e-5, False)\n"))
        .write;
  };
  EXPECT_THAT(write("True"), StartsWith("aten::batch_norm"));
  EXPECT_THAT(write("x.size(0) > 2"), StartsWith("aten::batch_norm"));
  EXPECT_THAT(write("False"), IsEmpty());
}

// A module's flag that the program does not set is known.
TEST(InputQueries, FindNoHiddenWritesOfAModuleThatIsNotTrained) {
  torch::jit::Module module("m");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("mean", at::zeros({3}));
  module.define(
      "def forward(self, x: Tensor):\n"
      "  return torch.batch_norm(x, None, None, self.mean, x.select(0, 0),"
      " self.training, 0.1, 1e-5, False)\n");
  const auto queries = [&] {
    const auto model = Model::FromModule(module);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? FindInputQueries(*model).write : "none";
  };
  EXPECT_THAT(queries(), IsEmpty());
}

// Elementwise operators keep the layout of what they are given.
TEST(InputQueries, FindWhoseLayoutAProgramAsksFor) {
  const auto arguments = [](const char* body) {
    const InputQueries found = Queries(body);
    return found.layout.empty() ? std::set<int>() : found.layout[0].arguments;
  };
  EXPECT_THAT(arguments("  return (y * 2).view([-1]).stride(0), x + 1\n"),
              ElementsAre(1));
  EXPECT_THAT(arguments("  return torch.ones([x.size(0)]).stride(0), y\n"),
              IsEmpty());
  EXPECT_THAT(arguments("  z = y\n  if bool(y.sum() > 0):\n    z = x * 2\n"
                        "  return z.stride(0)\n"),
              ElementsAre(0, 1));
  EXPECT_THAT(arguments("  z = y\n  for i in range(3):\n    z = z + x\n"
                        "  return z.stride(0)\n"),
              ElementsAre(0, 1));
  EXPECT_THAT(arguments("  z = [y]\n  z.append(x)\n"
                        "  return z[1].stride(0)\n"),
              ElementsAre(0, 1));
}

TEST(InputQueries, FindWritesToArguments) {
  EXPECT_THAT(Queries("  return x.relu_()\n").write, StartsWith("aten::relu_"));
  EXPECT_THAT(Queries("  x[0] = y[0]\n  return x\n").write,
              StartsWith("aten::copy_"));
  EXPECT_THAT(Queries("  return torch.relu(x).add_(y)\n").write, IsEmpty());
}

TEST(InputQueries, TellWhichArgumentsAreWritten) {
  const auto written = [](const std::string& body) {
    return Queries(body).written_arguments;
  };
  EXPECT_THAT(written("  return x + y\n"), IsEmpty());
  EXPECT_THAT(written("  return torch.relu(x).add_(y)\n"), IsEmpty());
  EXPECT_THAT(written("  x[0] = y[0]\n  return x\n"), ElementsAre(0));
  EXPECT_THAT(written("  y.index_copy_(0, torch.tensor([0]), x)\n  return y\n"),
              ElementsAre(1));
  EXPECT_THAT(written("  z = y\n  for i in range(3):\n    z = z[1:]\n"
                      "  z.add_(x)\n  return z\n"),
              ElementsAre(1));
  // What a list holds that the program changes may be any of them.
  EXPECT_THAT(written("  z = [y]\n  z.append(x)\n  z[0].add_(1)\n"
                      "  return z[1]\n"),
              ElementsAre(0, 1));
}

// Each function of torch.nn.functional holds the branch of its `inplace`.
TEST(InputQueries, BranchesThatNeverRunWriteNothing) {
  const std::string body =
      "  inplace = False\n"
      "  if inplace:\n    z = torch.relu_(x)\n"
      "  else:\n    z = torch.relu(x)\n"
      "  return z\n";
  EXPECT_THAT(Queries(body).write, IsEmpty());
  EXPECT_THAT(Queries("  if y.size(0) > 2:\n    x.relu_()\n  return x\n").write,
              StartsWith("aten::relu_"));
}

// As batch_norm does to the number of batches, and a cache to its rows.
TEST(InputQueries, FindCopiesThatMayBeViewsWhereTheyAreWritten) {
  for (const char* copy : {"x.contiguous()", "x.reshape([-1])", "x.flatten()",
                           "torch.ravel(x)", "x.t().contiguous()"}) {
    const std::string made = absl::StrCat("  z = ", copy, "\n");
    const InputQueries written = Queries(made + "  z.mul_(2)\n  return z\n");
    ASSERT_EQ(written.layout.size(), 1) << copy;
    EXPECT_THAT(written.layout[0].arguments, ElementsAre(0)) << copy;
    // Nothing is written, or another argument.
    EXPECT_THAT(Queries(made + "  return z\n").layout, IsEmpty()) << copy;
    EXPECT_THAT(Queries(made + "  y.mul_(2)\n  return z\n").layout, IsEmpty())
        << copy;
  }
}

TEST(InputQueries, FindChangesOfTheCallersLists) {
  const auto write = [](const std::string& body) {
    const auto model = Model::FromSource(
        "def forward(self, x: Tensor, l: List[Tensor], "
        "d: Dict[str, List[Tensor]]):\n" +
        body);
    EXPECT_TRUE(model.ok()) << model.status();
    return FindInputQueries(*model).container_write;
  };
  EXPECT_THAT(write("  l.append(x)\n  return x\n"), StartsWith("aten::append"));
  EXPECT_NE(write("  l[0] = l[0] + x\n  return x\n"), "");
  EXPECT_NE(write("  d['a'] = l\n  return x\n"), "");
  EXPECT_NE(write("  d['a'].append(x)\n  return x\n"), "");
  EXPECT_EQ(write("  m: List[Tensor] = []\n  m.append(x)\n  return m\n"), "");
  EXPECT_EQ(write("  l[0].add_(x)\n  return x\n"), "");
}

TEST(InputQueries, ChangesOfCopiesOfTheCallersListsAreNotOfTheirs) {
  const auto write = [](const std::string& body) {
    const auto model = Model::FromSource(
        "def forward(self, x: Tensor, l: List[Tensor], d: Dict[str, Tensor], "
        "n: List[int], e: Dict[str, List[Tensor]]):\n" +
        body);
    EXPECT_TRUE(model.ok()) << model.status();
    return FindInputQueries(*model).container_write;
  };
  for (const char* const body :
       {"  m = l.copy()\n  m.append(x)\n  return m\n",
        "  m = list(l)\n  m[0] = x\n  return m\n",
        "  m = l[1:]\n  return x * m.pop()\n",
        "  m = l + [x]\n  m.reverse()\n  return m\n",
        "  m = n * 2\n  m.append(2)\n  return x.repeat(m)\n",
        "  m = sorted(n)\n  m.append(2)\n  return x.repeat(m)\n",
        "  m = d.copy()\n  m['k'] = x\n  return m\n",
        "  m = list(d.values())\n  m.append(x)\n  return m\n",
        "  m = list(d.keys())\n  m.append('k')\n  return m\n"})
    EXPECT_EQ(write(body), "") << body;
  for (const char* const body :
       {"  m = l\n  m.append(x)\n  return m\n", "  l += [x]\n  return l\n",
        "  m = e.copy()\n  m['a'].append(x)\n  return m\n",
        "  m = list(e.values())\n  m[0].append(x)\n  return m\n",
        "  m = l.copy()\n  if len(m) > 3:\n    m = l\n  m.append(x)\n"
        "  return m\n"})
    EXPECT_NE(write(body), "") << body;
}

TEST(InputQueries, WritesToTheModelAreNotToArguments) {
  const auto write = [](const std::string& body) {
    torch::jit::Module module("Counts");
    module.register_attribute("training", c10::BoolType::get(), false);
    module.register_buffer("count", at::zeros({3}));
    module.register_attribute("kept", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>());
    module.define(
        absl::StrCat("def forward(self, x: Tensor) -> Tensor:\n", body));
    const auto model = Model::FromModule(module);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? FindInputQueries(*model).write : "";
  };
  EXPECT_THAT(write("  self.count.add_(1)\n  return x\n"), IsEmpty());
  EXPECT_THAT(write("  self.count[1:].copy_(x)\n  return x\n"), IsEmpty());
  EXPECT_THAT(write("  x[1:].copy_(self.count)\n  return x\n"),
              StartsWith("aten::copy_"));
  // The attribute, or an element of it, may be the argument by now.
  EXPECT_THAT(write("  self.kept.append(x)\n  self.kept[0].add_(1)\n"
                    "  return x\n"),
              StartsWith("aten::add_"));
  EXPECT_THAT(write("  self.count = x\n  self.count.add_(1)\n  return x\n"),
              StartsWith("aten::add_"));
}

TEST(InputQueries, CopiesOfNewTensorsThatAWriteShows) {
  const auto asks = [](const std::string& body) {
    return !Queries(body).layout.empty();
  };
  // What is made of x has its strides.
  EXPECT_TRUE(
      asks("  z = x.clone()\n  z.t().contiguous().add_(1)\n"
           "  return z\n"));
  EXPECT_TRUE(
      asks("  z = x * 2\n  w = z.t().reshape(-1)\n  z.add_(1)\n"
           "  return w\n"));
  EXPECT_TRUE(
      asks("  z = x + 1\n  w = z\n  for i in range(3):\n"
           "    w = z.t().flatten()\n    z.add_(w.sum())\n"
           "  return w\n"));
  // Written before, not read after, or read through the same of the two.
  EXPECT_FALSE(asks("  return torch.relu_(x + 1).flatten(0)\n"));
  EXPECT_FALSE(asks("  z = torch.sin(x).flatten(0)\n  return z.relu_()\n"));
  EXPECT_FALSE(
      asks("  z = torch.sin(x)\n  w = z.flatten(0)\n"
           "  v = w.view(-1)\n  w.add_(1)\n  return v * w\n"));
}

TEST(InputQueries, WritesToWhatAListGivesOfANewTensorAreNotToArguments) {
  const auto write = [](const std::string& body) {
    return Queries(body + "  return x\n").write;
  };
  EXPECT_EQ(write("  z = torch.cat([x, y])\n"
                  "  torch.chunk(z, 2)[0].relu_()\n"),
            "");
  EXPECT_EQ(write("  a, b = torch.chunk(x + y, 2)\n  a.view(-1).add_(b)\n"),
            "");
  EXPECT_EQ(write("  torch.meshgrid([x + 1, y + 1])[1].zero_()\n"), "");
  EXPECT_THAT(write("  torch.chunk(x, 2)[0].relu_()\n"),
              StartsWith("aten::relu_"));
  EXPECT_THAT(write("  torch.chunk([x, y + 1][0], 2)[0].relu_()\n"),
              StartsWith("aten::relu_"));
  EXPECT_THAT(write("  z = [x + 1]\n  z[0] = x\n  z[0].relu_()\n"),
              StartsWith("aten::relu_"));
  EXPECT_THAT(write("  z = x + 1\n  if bool(x.sum() > 0):\n    z = x\n"
                    "  torch.chunk(z, 2)[0].relu_()\n"),
              StartsWith("aten::relu_"));
}

// Their schemas say that they give new tensors.
TEST(InputQueries, OperatorsThatMayGiveTheirTensorItself) {
  for (const char* call :
       {"torch.dropout(x, 0.5, False)", "torch.feature_dropout(x, 0.5, False)",
        "torch.alpha_dropout(x, 0.5, False)", "torch.type_as(x, y)",
        "torch.atleast_2d(x)", "torch.sum_to_size(x, x.size())",
        "torch.conj_physical(x)", "torch.einsum('ij->ji', [x])",
        "torch.cartesian_prod([x.view(-1)])"}) {
    EXPECT_THAT(Queries(absl::StrCat("  return ", call, ".add_(1)\n")).write,
                StartsWith("aten::add_"))
        << call;
  }
  EXPECT_EQ(
      Queries("  return torch.einsum('ij,kj->ik', [x, y]).add_(1)\n").write,
      "");
}

TEST(InputQueries, WhatChangesTheSizesOfAnArgument) {
  const auto resizes = [](const std::string& body) {
    return Queries(absl::StrCat(body, "  return x\n")).own_arguments;
  };
  for (const char* body :
       {"  torch.add(x, 1, out=y)\n", "  y.unsqueeze_(0)\n",
        "  y.resize_([1])\n", "  torch.add(x, 1, out=y[0])\n",
        "  z = [x, y]\n  z[0].t_()\n",
        "  z = x if bool(x.sum() > 0) else y + 1\n  z.squeeze_(0)\n",
        "  x = torch.dropout(x, 0.5, False).t_()\n"})
    EXPECT_THAT(resizes(body), HasSubstr("may change the sizes of an argument"))
        << body;
  for (const char* body : {"  y.add_(1)\n", "  z = x + 1\n  z.unsqueeze_(0)\n",
                           "  z = x.view(-1)\n  z.unsqueeze_(0)\n  z.add_(1)\n",
                           "  z = torch.empty([0])\n  torch.add(x, 1, out=z)\n",
                           "  x[0].unsqueeze_(0).mul_(2).t_()\n"})
    EXPECT_THAT(resizes(body), IsEmpty()) << body;
}

TEST(InputQueries, DictsWhoseKeysAreTensors) {
  const auto asks = [](const std::string& type) {
    const auto model = Model::FromSource(absl::StrCat(
        "def forward(self, x: Tensor, d: ", type, "):\n  return x\n"));
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? FindInputQueries(*model).own_arguments : "";
  };
  EXPECT_THAT(asks("Dict[Tensor, str]"), HasSubstr("the argument d"));
  EXPECT_THAT(asks("Optional[List[Dict[Tensor, Tensor]]]"),
              HasSubstr("the argument d"));
  EXPECT_THAT(asks("Dict[str, Tensor]"), IsEmpty());
}

TEST(CheckWrites, NamesTheTensorThatIsNotContiguous) {
  const InputQueries writes = Queries("  return x.relu_()\n");
  const at::Tensor plain = at::rand({4, 3});
  EXPECT_TRUE(CheckWrites(writes, ValueList({plain, plain})).ok());
  const absl::Status refused =
      CheckWrites(writes, ValueList({Transposed(), plain}));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("argument 0 has a tensor, float32[4,3], that is not "
                        "contiguous, and the program writes to an argument "
                        "(aten::relu_ at "));
  // Of what it only reads a copy will do, unless a write would change it.
  EXPECT_TRUE(CheckWrites(writes, ValueList({plain, Transposed()})).ok());
  EXPECT_FALSE(CheckWrites(writes, ValueList({plain, plain.t()})).ok());
  EXPECT_TRUE(CheckWrites(Queries("  return x + y\n"),
                          ValueList({Transposed(), Transposed()}))
                  .ok());
}

TEST(CheckSharedWrites, NamesTheTensorThatAWriteWouldNotReach) {
  const InputQueries writes = Queries("  return x.relu_()\n");
  const at::Tensor whole = at::rand({4, 3});
  const auto check = [&](const at::Tensor& x, const at::Tensor& y) {
    return std::string(CheckSharedWrites(writes, ValueList({x, y})).message());
  };
  EXPECT_THAT(check(whole, whole.t()),
              HasSubstr("argument 1 has a tensor, float32[3,4], that is not "
                        "contiguous and shares memory with another, and the "
                        "program writes to an argument (aten::relu_ at "));
  EXPECT_EQ(check(whole, whole[1]), "");
  EXPECT_EQ(check(whole, Transposed()), "");
  EXPECT_TRUE(CheckSharedWrites(Queries("  return x + y\n"),
                                ValueList({whole, whole.t()}))
                  .ok());
}

TEST(CheckQueries, NamesTheTensorThatIsSeen) {
  const at::Tensor plain = at::rand({4, 3});
  const auto problem = [&](const std::string& body, const at::Tensor& x,
                           const at::Tensor& y) {
    return std::string(
        CheckQueries(Queries(body), ValueList({x, y})).message());
  };
  EXPECT_THAT(problem("  return x.stride(0)\n", plain, Transposed()),
              IsEmpty());
  EXPECT_THAT(problem("  return y.stride(0)\n", plain, Transposed()),
              HasSubstr("argument 1 has a tensor, float32[4,3], that is not "
                        "contiguous"));
  EXPECT_THAT(problem("  return x.storage_offset()\n", plain[1], plain),
              HasSubstr("is a part of another"));
  EXPECT_THAT(problem("  return x is y\n", plain, plain),
              HasSubstr("is given twice"));
  EXPECT_THAT(problem("  return x.requires_grad\n",
                      at::rand({2}).requires_grad_(), plain),
              HasSubstr("requires a gradient"));
  EXPECT_THAT(problem("  return x + y\n", plain[1], Transposed()), IsEmpty());
}

}  // namespace
}  // namespace aitune::frontend
