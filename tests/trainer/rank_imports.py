"""What every process of a `RankPool` needs; imported once, before they are forked."""

import warnings

with warnings.catch_warnings():
    # Megatron warns at import that Transformer Engine and Apex are missing. On a CPU they are.
    warnings.simplefilter("ignore")
    import trainer.rank  # noqa: F401
