"""``python -m wifair.papers.kemerlis2006`` calibrates anew."""

from wifair.papers.kemerlis2006.calibration import main

main()
