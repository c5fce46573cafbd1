"""Runs: submit, list, show, cancel; their states and the store that changes them."""
