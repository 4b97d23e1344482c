"""What delay and loss mean to users: quality of calls, and grades of latency under load."""

from __future__ import annotations

from wifair import _core


def call_quality(delay_s: float, loss_fraction: float) -> tuple[float, float]:
    """Rating of a telephone call by the E-model, and its mean opinion score.

    A G.711 call with packet loss concealment (equipment impairment 0, robustness 25.1), independent losses, and all
    other parameters of the model at their defaults, so that the best rating is 93.2.

    Parameters
    ----------
    delay_s : float
        One-way delay from mouth to ear, playout buffer included [s].
    loss_fraction : float
        Packets that never arrive, or arrive too late, over all.

    Returns
    -------
    r_factor, mos : float
        The rating R, at most 93.2, and the score, from 1 to 4.5; NaN where an argument is NaN.

    References
    ----------
    ITU-T G.107, clauses 7.4 (delay), 7.5 (equipment) and annex B (score); G.113, appendix I (G.711).

    Examples
    --------
    >>> [round(value, 1) for value in call_quality(0.05, 0.01)]
    [89.6, 4.3]
    """
    return _core.call_quality(delay_s, loss_fraction)


def bufferbloat_grade(increase_s: float) -> str | None:
    """Grade that common tests give to a connection for its increase of latency under load.

    Parameters
    ----------
    increase_s : float
        Mean latency under load minus latency without load [s].

    Returns
    -------
    str or None
        ``A+`` below 5 ms, ``A`` below 30 ms, ``B`` below 60 ms, ``C`` below 200 ms, ``D`` below 400 ms, else ``F``;
        None for NaN.

    References
    ----------
    The bounds of the DSLReports speed test and of Waveform's bufferbloat test.

    Examples
    --------
    >>> bufferbloat_grade(0.045)
    'B'
    """
    return _core.bufferbloat_grade(increase_s)
