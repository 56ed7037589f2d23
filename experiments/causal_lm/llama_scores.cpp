// Log-likelihoods of token sequences by llama.cpp, to set beside those of transformers (formats.py).
//
//   llama_scores MODEL.gguf BATCH < IDS > NATS
//
// A line of IDS is one sequence of token ids, of which the first is given and the others are scored. A line of NATS is
// the sum of the natural logarithms of their probabilities. What it took is one JSON object on stderr. One thread.
//
//   g++ -O2 -march=native -ffast-math -std=c++17 -I LLAMA/include -I LLAMA/ggml/include llama_scores.cpp
//       BUILD/src/libllama.a BUILD/ggml/src/lib{ggml,ggml-cpu,ggml-base}.a -fopenmp -ldl -o llama_scores
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

static const int SEQUENCES = 64;  // at most in one batch

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: llama_scores MODEL.gguf BATCH < IDS > NATS\n"), 2;
    const int budget = atoi(argv[2]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    auto of_model = llama_model_default_params();
    of_model.use_extra_bufts = false;  // as --no-repack does
    auto *model = llama_model_load_from_file(argv[1], of_model);
    auto of_context = llama_context_default_params();
    of_context.n_ctx = 4096;
    of_context.n_batch = of_context.n_ubatch = budget;
    of_context.n_threads = of_context.n_threads_batch = 1;
    of_context.n_seq_max = SEQUENCES;
    of_context.kv_unified = true;
    auto *context = model ? llama_init_from_model(model, of_context) : nullptr;
    if (!context) return fprintf(stderr, "%s cannot be loaded\n", argv[1]), 1;
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));

    std::vector<std::vector<int>> sequences;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream read(line);
        sequences.emplace_back();
        for (int id; read >> id;) sequences.back().push_back(id);
        if ((int)sequences.back().size() - 1 > budget) return fprintf(stderr, "a sequence exceeds BATCH\n"), 1;
    }

    long tokens = 0;
    const clock_t started = clock();
    auto batch = llama_batch_init(budget, 0, 1);
    for (size_t first = 0, end = 0; first < sequences.size(); first = end) {
        batch.n_tokens = 0;
        std::vector<std::pair<int, int>> targets;  // sequence in the batch, and the token that follows
        for (; end < sequences.size() && end - first < SEQUENCES; end++) {
            const auto &ids = sequences[end];
            if (batch.n_tokens + (int)ids.size() - 1 > budget) break;
            for (size_t k = 0; k + 1 < ids.size(); k++) {
                const int n = batch.n_tokens++;
                batch.token[n] = ids[k];
                batch.pos[n] = k;
                batch.n_seq_id[n] = 1;
                batch.seq_id[n][0] = end - first;
                batch.logits[n] = 1;
                targets.push_back({end - first, ids[k + 1]});
            }
        }
        llama_memory_clear(llama_get_memory(context), true);
        if (llama_decode(context, batch)) return fprintf(stderr, "a batch cannot be decoded\n"), 1;
        std::vector<double> sums(end - first, 0.0);
        for (int n = 0; n < batch.n_tokens; n++) {
            const float *logits = llama_get_logits_ith(context, n);
            const float highest = *std::max_element(logits, logits + vocabulary);
            double total = 0;
            for (int v = 0; v < vocabulary; v++) total += expf(logits[v] - highest);
            sums[targets[n].first] += logits[targets[n].second] - highest - log(total);
        }
        for (double sum : sums) printf("%.6f\n", sum);
        tokens += batch.n_tokens;
    }
    fprintf(stderr, "{\"tokens\": %ld, \"seconds\": %.3f}\n", tokens, double(clock() - started) / CLOCKS_PER_SEC);
}
