"""What ``fairlab.augment`` does with its rows: one by one, after words were chosen, or after RAZOR's rounds.

A plan is made of the configuration as plain containers, a function that reads the input's rows anew, and the run's
record. It is asked, in this order, for

- ``made_by()``: what makes the output, for its manifest. Raises where a setting does not suit the augmentation.
- ``prepare()``: all work that comes before rows are written. Gives the rows to write and what a worker builds to write
  them; or None, where the work before is all that was asked for.
- ``provenance()``: of the rewriter that was used.
- ``report(manifest, made)``: readings and notes for the record; ``made`` rows were there before ``limit``.
"""
