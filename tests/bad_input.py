"""The bad inputs that tests/test_bad_input.py gives to every entry point: overrides, and what the sentence names.

Each line is the overrides and, behind a bar, words of the sentence. ``BASES`` stand before them: runs that would be
fine. Names of files are those that ``write_inputs`` of the test leaves.
"""

from __future__ import annotations

BASES = {
    "train": (
        "train",
        "+experiment=ccd_bert backbone=bert_base backbone.name=tiny backbone.max_length=32 data.path=groups.jsonl "
        "benchmark=[cced] benchmark.cced.sets=[groups.jsonl] trainer=cpu",
    ),
    "classifier": (
        "train",
        "+experiment=razor_nli backbone=bert_base backbone.name=tiny backbone.max_length=32 data.path=task "
        "data.task=rte benchmark=glue debiasing=clever augmentation=eda",
    ),
    "corpus": (
        "train",
        "+experiment=cda_bert backbone=bert_base backbone.name=tiny_mlm backbone.max_length=32 data.paths=[many.txt] "
        "benchmark=[cced] benchmark.cced.sets=[groups.jsonl] logger=[csv]",
    ),
    "safety": ("train", "+experiment=safety_ensemble data=safety_sample data.repeats=1 method.trees=2 method.harms=[toxicity]"),
    "evaluate": ("evaluate", "model=tiny benchmark=[cced] benchmark.cced.sets=[groups.jsonl]"),
    "many": (
        "evaluate",
        "model=tiny max_length=32 benchmark=[crows_pairs,stereoset,holistic_bias,bias_ir,seat,stsb,sst2_probe,mb_index,perplexity,"
        "perturber,fairscore,glue] benchmark.glue.task=sst2 benchmark.fairscore.task=sst2",
    ),
    "data": ("evaluate", "dataset=labelled.jsonl benchmark=[shortcuts,db_index] benchmark.db_index.vectors=tiny max_length=32"),
    "cda": ("augment", "+augmentation=cda input=texts.txt output=out"),
    "groups": ("augment", "+augmentation=counterfactual_groups rewriter.mode=lexical input=texts.txt output=out"),
    "razor": ("augment", "+augmentation=razor input=labelled.jsonl output=out"),
    "llm": (
        "augment",
        "+augmentation=prompt_search llm=local llm.model=m search.corrector=rules input=texts.txt output=out",
    ),
    "biasers": ("augment", "+augmentation=biasers axis=ethnicity input=texts.txt output=out"),
    "perturbation": ("augment", "+augmentation=perturbation rewriter.mode=lexical input=texts.txt output=out"),
    "score": ("score", "model=ensemble input=texts.txt output=scores.jsonl"),
    "reproduce": ("reproduce", "paper=mini"),
    "report": ("report", "runs=runs"),
}

TABLE = """
[train]
seed=-1 | seed must be a whole number from 0 to 4294967295, not -1
seed=1.5 | seed
seed=[1] | seed
seed=null | seed must be a whole number from 0 to 4294967295, not null
seed=99999999999 | seed
measure_before=maybe | measure_before must be true or false, not maybe
measure_before=1 | measure_before
axis=5 | axis must be a text, not 5
attributes=man | attributes must be a list of texts or null, not man
attributes=[1] | attributes[0] must be a text, not 1
task=[] | task
before=nowhere | before=nowhere holds no run
before=[a] | before
+sed=3 | there is no key 'sed' at the top level
+method.gamma=1 | there is no setting 'gamma' for CCD; there are: beta, rho, lr, dropout, epochs
+method.seed=3 | seed of CCD follows from other settings
~method.lr | missing a required argument: 'lr'
method.beta=much | method.beta must be a number, not much
method.beta=-1 | method.beta must be 0 or more
method.beta=nan | method.beta must be a number, not nan
method.beta=inf | method.beta must be a number, not inf
method.beta=true | method.beta
method.beta=null | method.beta
method.rho=0 | method.rho must be variance, std, rms or a number above 0
method.rho=varianz | method.rho must be variance, std or rms or a number, not varianz
method.lr=0 | method.lr must be above 0
method.lr=[1] | method.lr
method.dropout=0.1 | method.dropout must be true or false, not 0.1
method.epochs=0 | method.epochs must be at least 1
method.epochs=1.5 | method.epochs must be a whole number, not 1.5
method.epochs={a:1} | method.epochs
method.validate_every=0 | method.validate_every must be at least 1
method.validate_every=often | method.validate_every
method._target_=nowhere.Nothing | method._target_=nowhere.Nothing cannot be had
method._target_=5 | method._target_=5 cannot be had
method._target_=fairlab.methods.ccd.CDC | method._target_=fairlab.methods.ccd.CDC cannot be had
method._target_=fairlab.types.NEUTRAL | is no class or function
~method._target_ | method
data.path=none.jsonl | none.jsonl is not a file
data.path=5 | data.path must be a text, not 5
data.path=null | data.path
data.path=[groups.jsonl] | data.path
data.path='' | data.path must be a text, not an empty text
data.path=bad_json.jsonl | bad_json.jsonl line 2 is not JSON
data.path=long_number.jsonl | long_number.jsonl line 2 is not JSON (an integer of too many digits)
data.path=nested.jsonl | nested.jsonl line 2 is not JSON (nested too deeply)
data.path=latin.jsonl | latin.jsonl line 2 is not UTF-8 text
data.path=empty.jsonl | empty.jsonl holds no counterfactual group
data.path=null.jsonl | null.jsonl line 1 has no 'versions'
data.path=no_neutral.jsonl | no_neutral.jsonl line 1 needs the versions 'neutral'
data.path=twice.jsonl | twice.jsonl line 2: the id 'a' was already used
data.path=number.jsonl | number.jsonl line 1: the version 'man' is int, not text
data.path=others.jsonl | others.jsonl line 2: the attributes are
data.path=task | task
data.batch_size=0 | data.batch_size must be at least 1
data.batch_size=2.5 | data.batch_size must be a whole number, not 2.5
data.batch_size=big | data.batch_size
data.batch_size=null | data.batch_size
data.validation=0 | data.validation must be above 0
data.validation=1.0e9 | data.validation
data.validation=half | data.validation must be a number, not half
data.validation=nan | data.validation
data.limit=0 | data.limit must be at least 1
data.limit=all | data.limit must be a whole number or null, not all
data.limit=1e3 | data.limit must be a whole number or null, not 1000.0
data.input=texts.txt | data.input is what an augmentation makes groups of
+data.shuffle=true | there is no setting 'shuffle' for CounterfactualData
backbone.name=nowhere/none | nowhere/none
backbone.name=null | backbone.name must be a text, not null
backbone.name=5 | backbone.name
backbone.max_length=3 | backbone.max_length must lie in 4..64
backbone.max_length=long | backbone.max_length
backbone.max_length=1.5 | backbone.max_length
backbone.pooling=median | backbone.pooling must be cls, mean or published, not median
backbone.pooling=published | holds no modules.json
backbone.normalize=perhaps | backbone.normalize must be true or false or null, not perhaps
backbone.dtype=int8 | backbone.dtype must be one of
backbone.dtype=32 | backbone.dtype
backbone.package=no_such_package | no_such_package
backbone.gguf=none.gguf | none.gguf
backbone.weights_sha256=abc | have SHA-256
backbone.revision=1 | backbone.revision
+backbone.fresh=-1 | backbone.fresh
+backbone.fresh=new | backbone.fresh
+backbone.adapters=none | there are: minilm_mlm
+backbone.trust_remote_code=true | there is no setting 'trust_remote_code' for load_backbone
benchmark.cced.sets=groups.jsonl | benchmark.cced.sets must be a list of texts, not groups.jsonl
benchmark.cced.sets=[] | benchmark.cced.sets
benchmark.cced.sets=[5] | benchmark.cced.sets[0]
benchmark.cced=5 | benchmark.cced must be a choice of a group, or what a _target_ names, not 5
benchmark.cced=null | benchmark.cced
+benchmark.cced.colour=red | there is no setting 'colour' for CCED; there are: sets
trainer.accelerator=abacus | this trainer cannot run here
trainer.accelerator=5 | trainer.accelerator
trainer.devices=0 | trainer.devices must be a number above 0
trainer.devices=many | trainer.devices must be a number above 0
trainer.devices=1.5 | trainer.devices
trainer.devices=null | trainer.devices
trainer.precision=17 | trainer.precision
trainer.precision=exact | trainer.precision must be
trainer.checkpoint_every=0 | trainer.checkpoint_every must be a whole number of at least 1, not 0
trainer.checkpoint_every=often | trainer.checkpoint_every
trainer.compile=perhaps | trainer.compile must be true or false, not perhaps
trainer.device_batch_size=0 | trainer.device_batch_size must be a whole number of at least 1 or null, not 0
trainer.device_batch_size=1.5 | trainer.device_batch_size
+trainer.max_step=2 | there is no setting 'max_step' for Trainer
+trainer.max_steps=0 | trainer.max_steps must be at least 1
+trainer.max_steps=two | trainer.max_steps must be a whole number, not two
+trainer.strategy=magic | this trainer cannot run here
+trainer.num_nodes=none | trainer.num_nodes
+trainer.num_nodes=0 | trainer.num_nodes
+trainer.callbacks=early | trainer.callbacks
+trainer.callbacks=[early] | trainer.callbacks[0]
+trainer.callbacks=[{_target_:lightning.pytorch.callbacks.Nothing}] | trainer.callbacks[0]._target_=lightning.pytorch.callbacks.Nothing cannot be had
+trainer.callbacks=[{_target_:lightning.pytorch.callbacks.EarlyStopping,monitr:x}] | there is no setting 'monitr' for EarlyStopping
+trainer.callbacks=[{_target_:lightning.pytorch.callbacks.EarlyStopping}] | missing a required argument: 'monitor'
+trainer.accumulate_grad_batches=2 | trainer.accumulate_grad_batches follows from other settings; give data.batch_size
+trainer.max_epochs=2 | trainer.max_epochs follows from other settings; give method.epochs
+trainer.logger=true | trainer.logger follows from other settings; give logger=NAME
+trainer.fast_dev_run=true | trainer.fast_dev_run
+trainer.gradient_clip_val=1 | give method.clip
+trainer.profiler=magic | this trainer cannot run here
+logger.x=5 | logger.x
+logger.x._target_=nowhere.Logger | logger.x._target_=nowhere.Logger cannot be had
scale.name=5 | scale.name
rewriter=foo | rewriter
augmentation={a:1} | augmentation
+llm.model=x | llm
[classifier]
data.task=taste | taste
data.task=null | data.task
data.path=nowhere | nowhere
data.validation=1 | data.validation must lie above 0 and below 1
data.unseen=rte:dev | data.unseen must be a list of texts, not rte:dev
data.unseen=[rte] | data.unseen names sets as TASK:SPLIT
method.rank=0 | method.rank must be at least 1
method.warmup=2 | method.warmup must lie in 0..1
method.patience=0 | method.patience must be at least 1
method.weight_decay=-1 | method.weight_decay must be 0 or more
debiasing.scale=-1 | debiasing.scale must be 0 or more
debiasing.scale=wide | debiasing.scale must be a number
debiasing.space=outer | debiasing.space must be logits or probabilities, not outer
debiasing.epochs=0 | debiasing.epochs
debiasing.lr=0 | debiasing.lr must be a number above 0, not 0
debiasing.batch_size=0 | debiasing.batch_size
augmentation.alpha=-1 | augmentation.alpha
augmentation.alpha=2 | augmentation.alpha
augmentation.num_aug=0 | augmentation.num_aug
augmentation.synonyms=magic | augmentation.synonyms
benchmark.glue.path=5 | benchmark.glue.path
[corpus]
data.paths=texts.txt | data.paths must be a list of texts, not texts.txt
data.paths=[] | data.paths
data.paths=[none.txt] | none.txt
data.windows=[] | data.windows must be a list of numbers of tokens
data.windows=64 | data.windows must be a list of whole numbers, not 64
data.windows=[-1] | data.windows
data.windows=[one] | data.windows[0] must be a whole number, not one
data.validation=2 | data.validation must lie above 0 and below 1
augmentation.axis=taste | no lexicon for the axis 'taste'
method.betas=[0.9] | method.betas
method.betas=[0.9,2] | method.betas
method.betas=0.9 | method.betas
method.betas=[0.9,big] | method.betas[1] must be a number, not big
method.mask_share=2 | method.mask_share must lie in 0..1
method.clip=-1 | method.clip must be 0 or more
method.dropout={hidden:2,attention:0.1} | method.dropout
method.dropout={hidden:0.1} | method.dropout needs hidden and attention
method.dropout={hidden:much,attention:0.1} | method.dropout.hidden must be a number, not much
method.dropout=true | method.dropout must be values by name, {NAME: VALUE} or null, not true
method.steps=0 | method.steps must be at least 1
method.whole_words=2 | method.whole_words
logger.csv.name=[] | logger.csv.name
[safety]
data.name=nothing | no safety data set 'nothing'
data.path=nowhere.csv | nowhere.csv
data.folds=1 | data.folds
data.folds=0 | data.folds
data.repeats=0 | data.repeats
data.held_out=[none] | no safety data set 'none'
data.held_out=hatecheck | data.held_out must be a list of texts
method.harms=[] | method.harms
method.harms=[none] | method.reweighting has no values for none
method.kind=oak | method.kind must be
method.trees=0 | method.trees
method.leaf=0 | method.leaf
method.reweighting.hate.lambda_safe=-1 | lambda_safe must be a number of at least 0
method.reweighting.hate=5 | method.reweighting.hate
method.reweighting=null | method.reweighting
method.cache=texts.txt | texts.txt is no cache of scores
source.profanity=5 | source.profanity
+source.word_list={_target_:fairlab.ensemble.sources.WordList,path:none.txt} | none.txt is no word list
+source.word_list={_target_:fairlab.ensemble.sources.WordList} | missing a required argument: 'path'
benchmark.safety.threshold=2 | threshold
benchmark.safety.of=nothing | nothing was scored of 'nothing'
[evaluate]
model=null | model has no value
model=[] | model is an empty list
model=1.5 | model must be
model=nowhere/none | nowhere/none
model=texts.txt | texts.txt
model={a:[tiny]} | model.a
dataset=groups.jsonl | dataset= is measured without a model=
pooling=median | pooling must be mean, cls or published or null, not median
pooling=[mean] | pooling
normalize=maybe | normalize must be true or false or null, not maybe
max_length=0 | max_length
max_length=long | max_length must be a whole number or null, not long
dtype=int8 | backbone.dtype must be one of
seed=one | seed
processes=0 | processes must be a whole number of at least 1, not 0
processes=many | processes
processes=1.5 | processes
field=5 | field must be
[many]
benchmark.crows_pairs.protocol=mine | benchmark.crows_pairs.protocol must be nangia or meade, not mine
benchmark.crows_pairs.bias_types=[taste] | taste
benchmark.crows_pairs.bias_types=gender | benchmark.crows_pairs.bias_types must be a list of texts or null
benchmark.crows_pairs.items=some | benchmark.crows_pairs.items must be all or regular, not some
benchmark.crows_pairs.path=none.csv | none.csv
benchmark.stereoset.task=[outer] | outer
benchmark.stereoset.task=intrasentence | benchmark.stereoset.task must be a list of texts
benchmark.stereoset.domains=[taste] | taste
benchmark.stereoset.path=bad_json.jsonl | bad_json.jsonl is not JSON
benchmark.stereoset.seen_in=nowhere | nowhere
benchmark.holistic_bias.version=9 | holistic_bias.version must be one of
benchmark.holistic_bias.axes=[taste] | holistic_bias.axes must be some of
benchmark.holistic_bias.templates=0 | holistic_bias.templates
benchmark.holistic_bias.sentences=1 | holistic_bias.sentences
benchmark.holistic_bias.score=guess | benchmark.holistic_bias.score must be perplexity or pseudo_log_likelihood or null, not guess
benchmark.bias_ir.document=title | benchmark.bias_ir.document
benchmark.seat.tests=[99] | seat has no test '99'
benchmark.seat.tests=[] | seat needs at least one test
benchmark.seat.tests=6 | benchmark.seat.tests must be a list
benchmark.stsb.path=none.tsv | none.tsv
benchmark.sst2_probe.limit=5 | sst2_probe.limit must be at least 100
benchmark.sst2_probe.task=taste | taste
benchmark.mb_index.stride=0 | mb_index.stride must be at least 1
benchmark.mb_index.unit=word | mb_index.unit
benchmark.mb_index.autocast=5 | benchmark.mb_index.autocast must be true or false
benchmark.mb_index.encoder.pooling=median | benchmark.mb_index.encoder.pooling must be
benchmark.perplexity.lines=1 | perplexity.lines must be at least 2
benchmark.perplexity.path=none.txt | none.txt
benchmark.perturber.limit=1 | benchmark.perturber.limit must be at least 2
benchmark.perturber.axes=[taste] | taste
benchmark.fairscore.task=stsb | the fairscore counts labels
benchmark.fairscore.sampling=guess | sampling
benchmark.fairscore.perturbed={test:out} | benchmark.fairscore.perturbed names 'test'
benchmark.glue.task=5 | benchmark.glue.task must be a text, not 5
[data]
model=tiny | dataset= is measured without a model=
dataset=none.jsonl | none.jsonl
dataset=[] | dataset is an empty list
field=body | field
field=[a,b] | field
benchmark.shortcuts.label=colour | has no 'colour'
benchmark.shortcuts.fewest=0 | benchmark.shortcuts.fewest and shown must be at least 1
benchmark.shortcuts.compat=mine | benchmark.shortcuts.compat
benchmark.db_index.entries=0 | benchmark.db_index.entries must be at least 1
benchmark.db_index.k=many | benchmark.db_index.k
benchmark.db_index.repeats=0 | benchmark.db_index.repeats
benchmark.db_index.draw=twice | benchmark.db_index.draw must be run or cluster, not twice
benchmark.db_index.comparison=none.jsonl | none.jsonl
benchmark.db_index.vectors=spacy:en_none | en_none
benchmark.db_index.vectors=nowhere/none | nowhere/none
benchmark.db_index.vectors=null | benchmark.db_index.vectors must be a text, not null
[cda]
input=null | input must be a text, not null
input=[texts.txt] | input
input=none.jsonl | none.jsonl is not a file
input=empty.txt | empty.txt holds no row
input=rain.txt | rain.txt gives nothing to write: 2 read, 2 rows without a word of the axis
input=groups.doc | groups.doc has an unknown ending
input=bad.parquet | bad.parquet is no Parquet file
input=open_quote.csv | open_quote.csv cannot be read
input=task:taste | taste
input=task:sst2:nothing | nothing
output=null | output
output=[out] | output
output=full | full is there already
output=texts.txt | texts.txt is there already
axis=taste | no lexicon for the axis 'taste'
axis=bad.yaml | bad.yaml is no YAML
axis=empty.yaml | empty.yaml is no lexicon
axis=null | axis must be a text, not null
attributes=[man,robot] | the axis 'gender' has no attribute 'robot'
attributes=[man] | attributes must name at least two
attributes=[] | attributes must name at least two
limit=0 | limit must be a whole number of at least 1 or null, not 0
limit=1.5 | limit
limit=all | limit
field=null | field
field=[] | field
input=labelled.jsonl field=body | none of the 12 rows of labelled.jsonl can be read
seed=-1 | seed
seed=dice | seed
shard_rows=0 | shard_rows must be a whole number of at least 1, not 0
shard_rows=1.5 | shard_rows must be a whole number of at least 1, not 1.5
shard_rows=null | shard_rows
num_proc=0 | num_proc must be a whole number of at least 1, not 0
num_proc=two | num_proc
engine=spark | engine must be local or ray, not spark
augmentation.output=maybe | augmentation.output must be groups, add or replace, not maybe
augmentation.output=5 | augmentation.output
axis=age augmentation.output=add | augmentation.output=add exchanges two attributes, and there are 5
+augmentation.verify=[taste] | there is no setting 'verify' for CDA
+augmentation.rewriter=5 | augmentation.rewriter

rewriter=null | rewriter
[groups]
augmentation.verify=[taste] | there is no verifier 'taste'
augmentation.verify=polarity | augmentation.verify must be a list of texts, not polarity
augmentation.filter=some | augmentation.filter must be drop, keep or fallback, not some
rewriter.mode=magic | rewriter.mode must be syntax or lexical, not magic
rewriter.names=5 | rewriter.names
+rewriter.speed=5 | there is no setting 'speed' for RuleGroups
[razor]
augmentation.label=colour | colour
augmentation.k=0 | k
augmentation.k=many | augmentation.k must be a whole number, not many
augmentation.candidates=0 | candidates
augmentation.rounds=0 | rounds
augmentation.tolerance=-1 | tolerance
augmentation.tolerance=tight | augmentation.tolerance must be a number, not tight
augmentation.accept=never | augmentation.accept must be always or if_lower, not never
augmentation.compat=mine | augmentation.compat
augmentation.features=deep | augmentation.features
augmentation.vectors=nowhere/none augmentation.features=embedding | nowhere/none
augmentation.width=0 | width
augmentation.pe=mine | augmentation.pe
augmentation.verify=nowhere | nowhere
rewriter.omit=5 | rewriter.omit
rewriter.language_model=5 | rewriter.language_model
rewriter.language_model.pooling=median | rewriter.language_model.pooling
[llm]
llm.base_url=5 | llm.base_url must be a text, not 5
llm.base_url=nowhere | nowhere
llm.model=null | llm.model
llm.concurrency=0 | concurrency
llm.concurrency=many | llm.concurrency
llm.budget.calls=-1 | llm.budget.calls must be at least 0 or null, not -1
llm.budget.calls=many | llm.budget.calls must be a number or null, not many
llm.budget=5 | llm.budget must be values by name
+llm.budget.euros=5 | there is no setting 'euros' in llm.budget
llm.price={input:1} | llm.price
llm.price={input:a,output:b} | llm.price
llm.price=5 | llm.price
llm.ledger=texts.txt | texts.txt
llm.ledger=null | llm.ledger
+llm.tempo=5 | there is no setting 'tempo' for load_server
+llm.total_timeout=0 | total_timeout
search.rounds=0 | search.rounds
search.rounds=many | search.rounds must be a whole number, not many
search.corrector=nobody | search.corrector must be terminal, file or rules, not nobody
search.texts=0 | search.texts
search.seeds=5 | search.seeds
search.seeds=[5] | search.seeds[0]
rewriter.prompt=nothing | there is no prompt nothing
rewriter.temperature=-1 | rewriter.temperature
rewriter.temperature=hot | rewriter.temperature
rewriter.unanswered=wait | rewriter.unanswered must be stop or reject, not wait
[biasers]
augmentation.mentions=none | augmentation.mentions must be first or each, not none
augmentation.morph=some | augmentation.morph
augmentation.upshift=book | augmentation.upshift
augmentation.summary=nowhere/none | nowhere/none
augmentation.seed=x | augmentation.seed
augmentation.language_model=null | language_model
augmentation.language_model.name=nowhere | nowhere
[perturbation]
augmentation.axes=[taste] | no lexicon for the axis 'taste'
augmentation.axes=[] | augmentation.axes
augmentation.axes=gender | augmentation.axes must be a list of texts, not gender
augmentation.sampling=guess | augmentation.sampling must be uniform or inverse_frequency, not guess
augmentation.verify=[taste] | taste
augmentation.choices=none.jsonl | none.jsonl is not a file
augmentation.choices=groups.jsonl | groups.jsonl line 1 is no choice of a perturbation
[score]
model=null | model must be a text, not null
model=nowhere | nowhere holds no ensemble
model=broken_ensemble | ensemble.json
input=none.txt | none.txt is not a file
input=5 | input must be a text, not 5
output=null | output must be a text, not null
output=texts.txt | texts.txt is there already
field=5 | field
num_proc=0 | num_proc must be a whole number of at least 1, not 0
num_proc=two | num_proc
num_proc=1.5 | num_proc
sources=5 | sources must be values by name
sources={sentiment:5} | sources.sentiment must be values by name
+sources.moderation.base_url=http://x | moderation
cache=5 | cache must be a text or null, not 5
cache=texts.txt | texts.txt is no cache of scores
[reproduce]
paper=null | paper must be a text, not null
paper=nothing | there is no experiments/nothing/matrix.yaml
paper=[mini] | paper
paper=bad | experiments/bad/matrix.yaml
paper=empty | experiments/empty/matrix.yaml
paper=lacking | experiments/lacking/matrix.yaml
table=9 | mini has no table 9
table=[6] | table
seeds=0 | seeds must be a whole number of at least 1 or null, not 0
seeds=-1 | seeds
seeds=3 | seeds must lie in 1..2, not 3
seeds=1.5 | seeds
seeds=all | seeds
dry_run=maybe | dry_run must be true or false, not maybe
dry_run=null | dry_run
output=null | output
scale.name=huge | huge
[report]
runs=null | runs must be a text, not null
runs=5 | runs
runs=nowhere | nowhere
runs=texts.txt | texts.txt
runs=[runs] | runs
readings=foo | readings must be a list of texts or null, not foo
readings=[foo] | foo
readings=[] | readings
readings=[1] | readings[0]
readings={a:1} | readings
"""


def cases() -> list[tuple[str, str, str]]:
    """Base, overrides and words of the sentence, of every line of the table."""
    found, base = [], ""
    for line in filter(None, TABLE.splitlines()):
        if line.startswith("["):
            base = line.strip("[]")
        else:
            overrides, _, words = line.partition(" | ")
            found.append((base, overrides, words))
    return found
