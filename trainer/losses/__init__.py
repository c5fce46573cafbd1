"""The losses that a phase can optimise, per token. Pure torch: no Megatron, no process groups, no batch sizes."""
