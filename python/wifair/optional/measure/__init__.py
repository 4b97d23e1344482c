"""Measurements on a real network, with the tables and figures of a simulation.

`wifair measure serve` runs on the host behind the access point, `wifair measure join` on stations, and
`wifair measure run` goes through a plan.
"""
