/* Drives llm.c's own train_gpt2.c (its functions, its loop of forward, zero_grad, backward, update) on random weights and
 * tokens: after {"ready": ...} each number on stdin asks for as many steps. Compiled by llmc_step.py with -I to the user's
 * copy; nothing of it is here. */
#define TESTING
#include "train_gpt2.c"

static GPT2 model;

static float noise(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return ((float)(*state >> 8) / 16777216.0f - 0.5f) * 0.07f;
}

static void build_random(GPT2Config config) {
  unsigned state = 1337;
  model.config = config;
  fill_in_parameter_sizes(model.param_sizes, config);
  for (int i = 0; i < NUM_PARAMETER_TENSORS; i++) model.num_parameters += model.param_sizes[i];
  model.params_memory = malloc_and_point_parameters(&model.params, model.param_sizes);
  for (size_t i = 0; i < model.num_parameters; i++) model.params_memory[i] = noise(&state);
}

static int *random_tokens(int count, int vocabulary, unsigned state) {
  int *tokens = malloc((size_t)count * sizeof(int));
  for (int i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    tokens[i] = (int)((state >> 8) % (unsigned)vocabulary);
  }
  return tokens;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* llmc_driver LAYERS HEADS CHANNELS CONTEXT VOCABULARY PADDED B T */
int main(int argc, char **argv) {
  if (argc != 9) return 2;
  int v[9];
  for (int i = 1; i < 9; i++) v[i] = atoi(argv[i]);
  build_random((GPT2Config){.num_layers = v[1], .num_heads = v[2], .channels = v[3], .max_seq_len = v[4],
                            .vocab_size = v[5], .padded_vocab_size = v[6]});
  int *inputs = random_tokens(v[7] * v[8], v[5], 1), *targets = random_tokens(v[7] * v[8], v[5], 2);
  FILE *answers = fdopen(dup(1), "w");
  dup2(2, 1); /* what train_gpt2.c prints must not get between the answers */
  fprintf(answers, "{\"ready\": \"llm.c train_gpt2.c, OpenMP\"}\n");
  fflush(answers);
  int steps, update = 0;
  while (scanf("%d", &steps) == 1) {
    for (int i = 0; i < steps; i++) {
      double start = now_ms();
      gpt2_forward(&model, inputs, targets, v[7], v[8]);
      gpt2_zero_grad(&model);
      gpt2_backward(&model);
      gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, ++update);
      fprintf(answers, "%s%.3f", i == 0 ? "{\"ms\": [" : ", ", now_ms() - start);
    }
    fprintf(answers, "]}\n");
    fflush(answers);
  }
  return 0;
}
