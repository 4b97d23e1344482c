"""Measurements on a real network: the study of a wireless LAN, with the tables and plots of a simulated one.

`wifair measure serve` runs on the host behind the access point, `wifair measure join` on stations, and
`wifair measure run` goes through a plan.
"""
