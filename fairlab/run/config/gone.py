"""Choices that were removed, with their replacements."""

GONE = {
    "experiment/inlp_bert": "+experiment=ccd_bert method=inlp",
    "experiment/sentence_debias_bert": "+experiment=ccd_bert method=sentence_debias",
    "experiment/ccd_linear_bert": "+experiment=ccd_bert method=ccd_linear",
    "experiment/ccd_roberta": "+experiment=ccd_bert backbone=SCALE/roberta, where SCALE is quickstart or paper",
    "experiment/cda_bert": "+experiment=cda_text_bert",
    "experiment/dpce_bert": "+experiment=dpce_sentences_bert",
    "experiment/adept_bert": "+experiment=adept_sentences_bert",
    "backbone/paper/distilbert": "backbone=distilbert backbone.max_length=512",
    "backbone/paper/roberta_base": "backbone=roberta_base backbone.max_length=512",
    "backbone/roberta_large": "model=FacebookAI/roberta-large",
    "backbone/bart_large": "backbone=paper/seq2seq",
    "backbone/llama_13b_chat": "backbone=paper/causal_lm",
}
