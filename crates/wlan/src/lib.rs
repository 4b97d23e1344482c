//! IEEE 802.11 timing, channel access and queue disciplines.
