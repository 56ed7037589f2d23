"""Any amount of text as a stream of rows: readers, shards and their manifest."""
