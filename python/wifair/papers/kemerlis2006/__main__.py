"""``python -m wifair.papers.kemerlis2006`` repeats the calibration."""

from wifair.papers.kemerlis2006.calibration import main

main()
