"""The peer of `gp-peer-bench sample`: Hugging Face's generate with its key-value cache, on random weights of the same size.
One repetition continues --batch prompts of --prompt tokens by --tokens tokens."""
import argparse

import torch
import transformers

import hf_step
import protocol


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    protocol.add_step_arguments(parser)
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1337)
    model = hf_step.make_model(arguments).eval()
    if arguments.precision == "bf16":
        model = model.to(torch.bfloat16)
    prompts = torch.randint(0, arguments.vocabulary, (arguments.batch, arguments.prompt))
    settings = transformers.GenerationConfig(
        do_sample=True, temperature=0.8, top_k=200, max_new_tokens=arguments.tokens, min_new_tokens=arguments.tokens,
        eos_token_id=None, pad_token_id=0)

    @torch.no_grad()
    def generate():
        model.generate(prompts, generation_config=settings, attention_mask=torch.ones_like(prompts))

    protocol.serve(f"transformers {transformers.__version__} generate on torch {torch.__version__}, "
                   f"{torch.get_num_threads()} threads", generate)


if __name__ == "__main__":
    main()
