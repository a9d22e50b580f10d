"""The peer of `gp-peer-bench step --peer hf`: a training step of Hugging Face's GPT2LMHeadModel with PyTorch's AdamW."""
import argparse
import contextlib

import torch
import transformers

import protocol


def make_model(arguments):
    config = transformers.GPT2Config(
        vocab_size=arguments.vocabulary, n_positions=arguments.context, n_embd=arguments.channels,
        n_layer=arguments.layers, n_head=arguments.heads, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        activation_function="gelu_new" if arguments.gelu == "tanh" else "gelu")
    return transformers.GPT2LMHeadModel(config)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    protocol.add_step_arguments(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1337)
    model = make_model(arguments).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.sequence))

    def step():
        half = arguments.precision == "bf16"
        with torch.autocast("cpu", dtype=torch.bfloat16) if half else contextlib.nullcontext():
            loss = model(ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    protocol.serve(f"transformers {transformers.__version__} GPT2LMHeadModel on torch {torch.__version__}, "
                   f"{torch.get_num_threads()} threads", step)


if __name__ == "__main__":
    main()
