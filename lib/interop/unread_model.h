// Recognises models in forms that gp does not read, and says how to convert them: PyTorch's
// pickles, TensorFlow's and Flax's weights, ONNX, GGUF, an adapter, the folder of a training. Looks
// only at names, the first bytes and the end of a file. Any thread may call.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::interop {

// FailedPrecondition for a directory: "DIR holds its weights as pytorch_model.bin, a pickle, …;
// write them as safetensors first: …". InvalidArgument for a file: "PATH is a file of torch.save,
// expected …; …". OK when nothing is recognised. REQUIRES: `path` exists.
Status RefuseUnread(const std::string& path);

// FailedPrecondition when `directory` holds an adapter of peft.
Status RefuseAdapter(const std::string& directory);

}  // namespace gp::interop
