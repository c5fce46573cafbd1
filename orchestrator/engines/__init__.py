"""Copies of the policy that generate."""
