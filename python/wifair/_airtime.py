"""How long PPDUs and frame exchanges take, as computed by hand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from wifair import _core


class AirtimeError(ValueError):
    """A mode that the standard does not have, or a length that does not fit; `key` names the argument."""

    def __init__(self, text: str, key: str) -> None:
        """`text` says what is wrong and what exists."""
        super().__init__(text)
        self.key = key

    def __reduce__(self) -> tuple[type[AirtimeError], tuple[str, str]]:
        return type(self), (str(self), self.key)


@dataclass(frozen=True)
class Airtime:
    """Air time of a PPDU and of the exchange that it begins."""

    standard: str
    """As in ``802.11ax``."""
    band: str
    """``2.4``, ``5`` or ``6`` [GHz]."""
    mode: str
    """The transmit mode in words."""
    data_rate_bps: int
    """Data rate [bit/s]."""
    psdu_bytes: int
    """Length of the PSDU [B]."""
    mpdu_bytes: int
    """Bytes of its MPDUs, without delimiters and padding between them [B]."""
    duration_ns: int
    """Air time of the PPDU [ns]."""
    exchange_ns: int
    """PPDU, SIFS and response [ns]."""
    cycle_ns: int
    """AIFS of best effort (DIFS before 802.11n), mean backoff of a station alone, and exchange [ns]."""
    efficiency: float
    """Part of the cycle that the bits of the MPDUs would need at the data rate."""
    throughput_bps: float
    """Bits of the MPDUs over the cycle: what a saturated station alone gets, MAC headers included [bit/s]."""
    details: dict[str, Any] = field(repr=False)
    """Everything as ``wifair airtime --json`` prints it: parts of the PPDU, response, intervals."""


class AirtimeOptions(TypedDict, total=False):
    """What `airtime` takes besides the mode, the length and the users; each has a default.

    Attributes
    ----------
    response : str
        ``ack``, ``block-ack`` or ``none``; by default an ACK to one MPDU, a block ACK (from 802.11n on) to more or to a
        PSDU that is longer than any MPDU.
    buffer_size : int
        Buffer size of the block ACK agreement [MPDUs]: a block ACK has 32 bytes up to 64, 56 up to 256, 88 up to 512
        and 152 up to 1024. By default the largest of the standard, as in a scenario: 64 in n and ac, 256 in ax, 1024 in
        be.
    basic_rates : sequence of str
        Rates for control responses; by default the mandatory ones: 1, 2, 5.5, 11 and 6, 12, 24 Mb/s.
    greenfield : bool
        HT-greenfield format.
    short_preamble : bool
        Short preamble of 802.11b.
    dcm : bool
        Dual carrier modulation of 802.11ax.
    extended_range : int
        HE ER SU with this number of tones, 242 or 106.
    ltf : int
        LTFs of 802.11ax and be, 1, 2 or 4; by default 2x with 800 and 1600 ns, 4x with 3200 ns.
    coding : str
        ``bcc`` or ``ldpc``; by default BCC if the standard has it.
    ldpc_extra_symbol : bool
        Count the symbol (n, ac) or segment (ax, be) that LDPC needs for some lengths; refused if the code is BCC.
    packet_padding : str
        Nominal packet padding of the receiver (ax, be): 0, 8 or 16 us; in 802.11be also 20 us, which hold for MCS 12
        and 13 and for 320 MHz; other modes then have 16 us.
    sig_b_dcm : bool
        Whether HE-SIG-B has dual carrier modulation.
    sequence : str
        After an MU PPDU ``bar`` (default: a block ACK, then a BlockAckReq for each other user), ``mu-bar``,
        ``aggregated-mu-bar`` or ``none``; around a TB PPDU ``basic-trigger`` (default), ``bsrp`` (buffer status reports
        before it) or ``none``.
    """

    response: str | None
    buffer_size: int | None
    basic_rates: Sequence[str]
    greenfield: bool
    short_preamble: bool
    dcm: bool
    extended_range: int | None
    ltf: int | None
    coding: str | None
    ldpc_extra_symbol: bool
    packet_padding: str | None
    sig_b_dcm: bool
    sequence: str | None


def airtime(
    *,
    standard: str,
    band: str | float | None = None,
    width: int | str | None = None,
    mcs: int | None = None,
    rate: str | None = None,
    streams: int | None = None,
    guard_interval: str | None = None,
    psdu_length: int | None = None,
    mpdu_length: int | None = None,
    mpdus: int | None = None,
    format: str = "su",  # noqa: A002
    users: Sequence[Mapping[str, Any]] = (),
    sig_b_mcs: int | None = None,
    **options: Unpack[AirtimeOptions],
) -> Airtime:
    """Air time of a PPDU, exact to the nanosecond, and of its exchange with an ACK or block ACK.

    Parameters
    ----------
    standard : str
        ``802.11b``, ``a``, ``g``, ``n``, ``ac``, ``ax`` or ``be``.
    band : str or float, optional
        2.4, 5 or 6 [GHz]; by default 2.4 for b and g, else 5.
    width : int or str, default 20
        Channel width [MHz], as in ``80`` or ``"80 MHz"``.
    mcs : int
        Modulation and coding scheme, from 802.11n on.
    rate : str
        Data rate, for b, a and g, as in ``"54 Mb/s"``.
    streams : int, default 1
        Spatial streams; in 802.11n the MCS determines them.
    guard_interval : str, default "800 ns"
        As in ``"400 ns"`` or ``"3.2 us"``.
    psdu_length, mpdu_length : int
        Length of the PSDU, or of the MPDU (or each of them) that it is built from, with MAC header and FCS [B].
    mpdus : int, optional
        MPDUs of an A-MPDU, each with delimiter and padding.
    format : {"su", "mu", "tb"}, default "su"
        A PPDU for one station, or for several (ax, be): downlink MU, or uplink in answer to a Trigger frame (TB).
    users : sequence of mapping
        With "mu" and "tb": for each user ``ru`` (tones and number, as in ``"106.1"``, or ``"106.1s"`` in the secondary
        80 MHz channel; the whole channel by default; users with the same one share it by MU-MIMO), ``mcs``,
        ``streams``, ``dcm``, ``coding``, and ``psdu_length`` or ``mpdu_length`` and ``mpdus``, as above.
    sig_b_mcs : int, optional
        How HE-SIG-B (MCS 0 to 5) or EHT-SIG (0, 1, 3, 15) is sent: by default with the lowest MCS of the users, at most
        5, and with MCS 0 in EHT.
    **options
        Of `AirtimeOptions`: ``response``, ``buffer_size``, ``basic_rates``, ``greenfield``, ``short_preamble``,
        ``dcm``, ``extended_range``, ``ltf``, ``coding``, ``ldpc_extra_symbol``, ``packet_padding``, ``sig_b_dcm``,
        ``sequence``.

    Returns
    -------
    Airtime
        Durations in nanoseconds.

    Raises
    ------
    AirtimeError
        A `ValueError`: the standard has no such mode, or the length does not fit; the message lists what exists.

    References
    ----------
    IEEE Std 802.11-2020, 16.3.4, 17.4.3, 19.4.3 and 21.4.3; 802.11ax, 27.3.11.8 and 27.4.3; 802.11be, 36.4.3.

    Examples
    --------
    >>> import wifair
    >>> wifair.airtime(standard="802.11n", mcs=7, psdu_length=1538).duration_ns
    228000
    >>> wifair.airtime(standard="802.11a", rate="54 Mb/s", psdu_length=14).duration_ns
    24000
    >>> half = {"mcs": 5, "psdu_length": 1538}
    >>> users = [{"ru": "106.1", **half}, {"ru": "106.2", **half}]
    >>> wifair.airtime(standard="802.11ax", format="mu", users=users).duration_ns
    468800
    """
    arguments: dict[str, Any] = {name: value for name, value in locals().items() if name != "options"}
    arguments |= options
    if format == "su":
        for name in MU_ARGUMENTS:
            value = arguments.pop(name, None)
            if name != "format" and value is not None and value is not False and len(value if name == "users" else " "):
                raise AirtimeError(f'{name}: belongs to a PPDU for several users: give format "mu" or "tb"', name)
        single = _question(**arguments)
        return _asked(standard, lambda: _core.airtime(single))
    multiple = _mu_question(**arguments)
    return _asked(standard, lambda: _core.airtime_mu(multiple))


def _asked(standard: str, ask: Callable[[], dict[str, Any]]) -> Airtime:
    try:
        return _answer(standard, ask())
    except ValueError as error:
        raise AirtimeError(*error.args) from None


def airtime_table(**arguments: Any) -> list[Airtime]:
    """Air times of all modes that the arguments of `airtime` allow, except those in which the PSDU does not fit.

    Raises
    ------
    AirtimeError
        As `airtime`, if no mode is left.

    Examples
    --------
    >>> rows = airtime_table(standard="802.11n", width=20, guard_interval="800 ns", streams=1, psdu_length=1538)
    >>> [row.duration_ns for row in rows][-2:]
    [248000, 228000]
    """
    question = _question(**arguments)
    try:
        return [_answer(question["standard"], row) for row in _core.airtime_table(question)]
    except ValueError as error:
        raise AirtimeError(*error.args) from None


MU_ARGUMENTS = ("format", "users", "sig_b_mcs", "sig_b_dcm", "sequence")
_USER = ("ru", "mcs", "streams", "dcm", "coding", "psdu_length", "mpdu_length", "mpdus")
_MU_ALSO = ("standard", "band", "width", "guard_interval", "ltf", "buffer_size", "basic_rates", "ldpc_extra_symbol")


def _mu_question(**arguments: Any) -> dict[str, Any]:
    """Give every key that the core expects for several users."""
    allowed = {*MU_ARGUMENTS, *_MU_ALSO, "packet_padding"}
    for name, value in arguments.items():
        if name not in allowed and value is not None and value is not False:
            where = "each of the users" if name in _USER else "a single-user PPDU"
            raise AirtimeError(f"{name}: belongs to {where}, not to a PPDU for several users", name)
    question: dict[str, Any] = dict(
        _question(**{name: arguments[name] for name in (*_MU_ALSO, "packet_padding") if name in arguments})
    )
    users = []
    for number, user in enumerate(arguments["users"], 1):
        unknown = sorted(set(user) - set(_USER))
        if unknown:
            raise AirtimeError(f"users: user {number} has no `{unknown[0]}`: there are {', '.join(_USER)}", "users")
        one = {name: user.get(name) for name in _USER} | {"dcm": bool(user.get("dcm", False))}
        for name in ("mcs", "streams", "psdu_length", "mpdu_length", "mpdus"):
            if one[name] is not None:
                one[name] = _whole(name, one[name])
        for name, example in (("ru", '"106.1"'), ("coding", '"ldpc"')):
            if one[name] is not None and not isinstance(one[name], str):
                raise AirtimeError(f"{name}: `{one[name]}` is no text, as in {example}", name)
        users.append(one)
    for name, example in (("format", '"mu"'), ("sequence", '"mu-bar"')):
        value = arguments.get(name)
        if value is not None and not isinstance(value, str):
            raise AirtimeError(f"{name}: `{value}` is no text, as in {example}", name)
    mcs = arguments["sig_b_mcs"]
    return question | {
        "format": arguments["format"],
        "users": users,
        "sig_b_mcs": None if mcs is None else _whole("sig_b_mcs", mcs),
        "sig_b_dcm": bool(arguments.get("sig_b_dcm", False)),
        "sequence": arguments.get("sequence"),
    }


_NUMBERS = ("mcs", "streams", "psdu_length", "mpdu_length", "mpdus", "buffer_size", "extended_range", "ltf")
_LARGEST = 2**32 - 1


def _question(**arguments: Any) -> _core.AirtimeQuestion:
    """Give every key that the core expects; numbers and texts are checked."""
    question: dict[str, Any] = {name: arguments.get(name) for name in (*_NUMBERS, *_TEXTS)}
    question |= {name: bool(arguments.get(name, False)) for name in _SWITCHES}
    rates = arguments.get("basic_rates", ())
    if isinstance(rates, str):
        raise AirtimeError(f'basic_rates: `{rates}` is one text: write a list, as in ["6 Mb/s"]', "basic_rates")
    question["basic_rates"] = [str(rate) for rate in rates]
    unknown = set(arguments) - set(question)
    if unknown:
        raise TypeError(f"airtime has no argument `{min(unknown)}`")
    if question["standard"] is None:
        raise TypeError("airtime needs `standard`")
    band = question["band"]
    question["band"] = f"{band:g}" if isinstance(band, int | float) else band
    for name in _NUMBERS:
        if question[name] is not None:
            question[name] = _whole(name, question[name])
    if question["width"] is not None and not isinstance(question["width"], str):
        question["width"] = str(_whole("width", question["width"]))
    for name, example in _TEXTS.items():
        value = question[name]
        if value is not None and not isinstance(value, str):
            raise AirtimeError(f"{name}: `{value}` is no text, as in {example}", name)
    return question  # type: ignore[return-value]


def _whole(name: str, value: Any) -> int:
    """Read a whole number of any kind, such as one of NumPy's."""
    if isinstance(value, str):
        raise AirtimeError(f'{name}: "{value}" is a text: write a number, without quotes', name)
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= _LARGEST:
        raise AirtimeError(f"{name}: `{value}` is no whole number from 0 to {_LARGEST}", name)
    return number


_TEXTS = {
    "standard": '"802.11ax"',
    "band": '"5"',
    "width": '"80 MHz"',
    "rate": '"54 Mb/s"',
    "guard_interval": '"800 ns"',
    "response": '"block-ack"',
    "coding": '"ldpc"',
    "packet_padding": '"16 us"',
}
_SWITCHES = ("greenfield", "short_preamble", "dcm", "ldpc_extra_symbol")


def _answer(standard: str, answer: dict[str, Any]) -> Airtime:
    cycle = answer["cycle"]
    return Airtime(
        standard=standard,
        band=answer["band"],
        mode=answer["mode"],
        data_rate_bps=answer["data_rate_bps"],
        psdu_bytes=answer["psdu_bytes"],
        mpdu_bytes=answer["mpdu_bytes"],
        duration_ns=answer["duration_ns"],
        exchange_ns=answer["exchange"]["duration_ns"],
        cycle_ns=cycle["duration_ns"],
        efficiency=cycle["efficiency"],
        throughput_bps=cycle["throughput_bps"],
        details={"standard": standard, **answer},
    )
