// RUN: aitune-opt %s -split-input-file -verify-diagnostics

func.func @missing_encoding(%x: tensor<?xf32>) {
  // expected-error @+1 {{must be a ranked tensor without encoding if static}}
  %0 = ait.exp %x : tensor<?xf32>
  return
}

// -----

#s = affine_map<()[s0] -> (s0)>
#t = affine_map<()[s0, s1] -> (s1)>
func.func @unequal_symbols(%x: tensor<?xf32, #s>, %y: tensor<?xi1, #t>) {
  // expected-error @+1 {{insert an ait.expand}}
  %0 = ait.where %y, %x, %x : tensor<?xi1, #t>, tensor<?xf32, #s>
  return
}

// -----

func.func @reshape_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{element counts differ}}
  %0 = ait.reshape %x : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @permutation_twice(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{must name each of the 2 axes once}}
  %0 = ait.permute %x {permutation = array<i64: 1, 1>} : tensor<2x2xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_out_of_bounds(%x: tensor<4xf32>) {
  // expected-error @+1 {{reads index 4 of axis 0, which has 4}}
  %0 = ait.slice %x {starts = array<i64: 2>, steps = array<i64: 2>} : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @concat_sum(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{do not add up}}
  %0 = ait.concat %x, %x {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  return
}

// -----

func.func @reduction_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{reduced axis 1 has not size 1}}
  %0 = ait.sum %x {dims = array<i64: 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @matmul_contracted(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{contracted sizes differ}}
  %0 = ait.matmul %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @convolution_of_volumes(%x: tensor<1x3x8x8x8xf32>, %w: tensor<4x3x3x3x3xf32>) {
  // expected-error @+1 {{stride needs 3 numbers (depth, height, width), each at least 1}}
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<1x4x6x6x6xf32>
  return
}

// -----

func.func @convolution_depth(%x: tensor<1x3x8x8x8xf32>, %w: tensor<4x3x3x3x3xf32>) {
  // expected-error @+1 {{axis 2 of 'tensor<1x4x7x6x6xf32>' should have size 6}}
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<1x4x7x6x6xf32>
  return
}

// -----

func.func @convolution_size(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{axis 2 of 'tensor<1x4x8x8xf32>' should have size 6}}
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @convolution_groups(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32> {
  // expected-error @below {{groups must be at least 1, not -1}}
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = -1 : i64}
      : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  return %0 : tensor<1x8x7x7xf32>
}

// -----

// 4 times as many channels are more than 64 bits hold.
func.func @convolution_most_groups(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32> {
  // expected-error @below {{do not fit in 9223372036854775807 groups}}
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 9223372036854775807 : i64}
      : (tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x7x7xf32>
  return %0 : tensor<1x8x7x7xf32>
}

// -----

func.func @masked_rows(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{has a masked_score but no mask of bool or f32}}
  %0 = ait.attention %x, %x, %x {scale = 1.0, masked_score = -1.0} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{attribute 'masked_rows_are_nan' failed to satisfy constraint: unit attribute}}
  %0 = ait.attention %x, %x, %x {scale = 1.0, masked_rows_are_nan = false} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @unknown_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{to be one of: loop, matmul, convolution, attention}}
  // expected-error @+1 {{failed to parse Ait_KernelKindAttr parameter 'value'}}
  %0 = ait.kernel <magic>(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    ait.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @missing_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{launches @nowhere, which does not exist}}
  %0 = ait.launch @nowhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @checks_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{checks integers, not 'tensor<4xf32>'}}
  %0 = ait.check %x {operator_name = "aten::fmod"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @check_size(%x: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error @+1 {{is not one number of symbols}}
  %0 = ait.check %x {size = affine_map<(d0) -> (d0)>, operator_name = "aten::index"} : tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @divisor_from_end(%x: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error @+1 {{a divisor does not count from the end}}
  %0 = ait.check %x {from_end, operator_name = "aten::fmod"} : tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// expected-error @+1 {{needs #ait.kind<loop>, <matmul>, <convolution> or <attention> as ait.kind, not "loop"}}
func.func private @kind_as_text(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = "loop"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has the attribute 'ait.knid', which the dialect ait does not know}}
func.func private @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.knid = #ait.kind<loop>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 has the attribute 'ait.const', which the dialect ait does not know}}
func.func private @unknown_argument_attribute(%x: tensor<4xf32> {ait.const}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{matmul_panels needs at least 1 as block_columns, not 0}}
func.func private @no_panels(%x: tensor<4xf32>) attributes {ait.packings = [#ait.packing<argument = 0, layout = matmul_panels>]}

// -----

// expected-error @+1 {{only matrices are transposed, not depthwise}}
func.func private @transposed_filter(%x: tensor<4xf32>) attributes {ait.packings = [#ait.packing<argument = 0, layout = depthwise, transposed = true>]}

// -----

// expected-error @+2 {{an axis needs a size and a stride, of symbols, for each mode, not affine_map<() -> (4)>}}
// expected-error @+1 {{failed to parse Ait_ContractionAttr parameter 'operands'}}
func.func private @mode_without_stride(%x: tensor<4xf32>) attributes {ait.contraction = #ait.contraction<sizes = () -> (1, 4, 4, 4), operands = [#ait.operand_view<argument = 0, element_type = f32, offset = () -> (0), axes = [() -> (4)]>]>}

// -----

// expected-error @+1 {{sizes must be batch, m, n and k, of symbols, not affine_map<() -> (4, 4)>}}
func.func private @too_few_sizes(%x: tensor<4xf32>) attributes {ait.contraction = #ait.contraction<sizes = () -> (4, 4), operands = []>}
