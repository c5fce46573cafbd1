"""What a caller of the trainer may import: plain data and protocols, free of torch, ray and megatron."""
