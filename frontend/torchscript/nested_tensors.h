// Batches of sequences of several lengths as the padded tensors they were made
// of. Internal: includes LibTorch.
//
// nn.TransformerEncoder, in evaluation mode and with a padding mask, makes a
// nested tensor of its batch, whose sizes no one tensor has, and pads it again
// after its layers. What is padded takes no part in the layers, so a mask of
// the padding does the same, in operators that can be compiled.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_NESTED_TENSORS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_NESTED_TENSORS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// Replaces each aten::_nested_tensor_from_mask in `graph` that does not check
// its mask, and the layers (aten::_transformer_encoder_layer_fwd) and
// aten::to_padded_tensor that read it. Leaves those that anything else reads,
// or that are padded to other sizes than they came from.
//
// A scripted nn.TransformerEncoder asks in each call whether the mask leaves
// out ends of sequences alone, and gives its layers the mask itself where it
// does not. There the answer becomes yes, and what is padded depends on the
// mask: nothing where it leaves out more. This is done to the encoder's own
// source alone, and where there is one question, nested tensor and
// aten::to_padded_tensor for its input.
//
// As in LibTorch, it is an error if no sequence has an element: one of an index
// out of range.
void PadNestedTensors(std::shared_ptr<torch::jit::Graph> graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_NESTED_TENSORS_H_
