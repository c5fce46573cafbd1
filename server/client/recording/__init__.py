"""Recording the steps of training loops that Swell does not run."""
