"""Runs that another training framework records: no job stands behind them, only what their writer tells."""
