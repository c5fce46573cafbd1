"""What a sample costs to train, by the model's shape or by what was measured."""
