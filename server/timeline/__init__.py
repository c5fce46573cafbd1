"""Who did what when within steps."""
