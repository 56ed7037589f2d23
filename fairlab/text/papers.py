"""Citations of papers that several parts implement. A paper with one part is cited in the file of that part."""

DENG_2024 = """@misc{deng2024llm,
  title = {{LLM}-Assisted Content Conditional Debiasing for Fair Text Embedding},
  author = {Deng, Wenlong and Chen, Blair and Zhao, Beidi and Zhang, Chiyu and Li, Xiaoxiao and Thrampoulidis,
    Christos},
  howpublished = {arXiv:2402.14208},
  year = {2024}
}"""
DEVLIN_2019 = """@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {Proceedings of NAACL},
  year = {2019}
}"""
MONDAL_2024 = """@article{mondal2024mitigating,
  title = {Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice Quantification},
  author = {Mondal, Devam and Lipizzi, Carlo},
  journal = {Computers},
  volume = {13},
  number = {6},
  pages = {141},
  year = {2024}
}"""
QIAN_2022 = """@inproceedings{qian2022perturbation,
  title = {Perturbation Augmentation for Fairer {NLP}},
  author = {Qian, Rebecca and Ross, Candace and Fernandes, Jude and Smith, Eric Michael and Kiela, Douwe and
    Williams, Adina},
  booktitle = {Proceedings of EMNLP},
  year = {2022}
}"""
SCHUSTER_2019 = """@inproceedings{schuster2019towards,
  title = {Towards Debiasing Fact Verification Models},
  author = {Schuster, Tal and Shah, Darsh and Yeo, Yun Jie Serene and Roberto Filizzola Ortiz, Daniel and
    Santus, Enrico and Barzilay, Regina},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year = {2019}
}"""
STURMAN_2024 = """@inproceedings{sturman2024debiasing,
  title = {Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble},
  author = {Sturman, Olivia and Joshi, Aparna R. and Radharapu, Bhaktipriya and Kumar, Piyush and Shelby,
    Renee},
  booktitle = {Proceedings of EMNLP: Industry Track},
  year = {2024}
}"""
YANG_2025 = """@inproceedings{yang2025razor,
  title = {{RAZOR}: Sharpening Knowledge by Cutting Bias with Unsupervised Text Rewriting},
  author = {Yang, Shuo and Prenkaj, Bardh and Kasneci, Gjergji},
  booktitle = {Proceedings of AAAI},
  year = {2025}
}"""
ZHAO_2018 = """@inproceedings{zhao2018gender,
  title = {Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods},
  author = {Zhao, Jieyu and Wang, Tianlu and Yatskar, Mark and Ordonez, Vicente and Chang, Kai-Wei},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
    Linguistics},
  year = {2018}
}"""
