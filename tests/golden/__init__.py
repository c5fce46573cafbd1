"""What the server answers of one recorded run, and what follows from it: kept as JSON that Python's and the dashboard's
tests both read, so that neither side can mean something else by it. `python -m tests.golden` writes it anew.
"""
