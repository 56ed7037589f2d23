"""fairlab inside other tools: trainers of sentence-transformers, transformers and Lightning, tasks of lm-eval."""
