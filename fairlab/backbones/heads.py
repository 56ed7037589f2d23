"""Ends of transformers' class names, by which the heads of a model are known."""

MASKED_LM, CAUSAL_LM = "ForMaskedLM", ("ForCausalLM", "LMHeadModel")
CLASSIFIER = "ForSequenceClassification"
SEQ2SEQ = ("ForConditionalGeneration", "EncoderDecoderModel")
TITLES = {
    (MASKED_LM,): "masked language model",
    ("ForPreTraining",): "masked language model, next sentence",
    CAUSAL_LM: "causal language model",
    SEQ2SEQ: "encoder-decoder language model",
    (CLASSIFIER,): "classifier",
}


def head_title(kind: str) -> str:
    """Return what the head of a class of transformers is, in words; ``none`` without one."""
    return next((title for ends, title in TITLES.items() if kind.endswith(ends)), "none")
