//! Parameters of a node's radio and of frame reception.

use wifair_config::{choice, table};
use wifair_units::{Db, Dbm};

/// Whether a level is plausible for a radio: 100 dBm are 10 MW, and thermal noise in 1 Hz is -174 dBm.
fn is_level(level: Dbm) -> bool {
    (-200.0..=100.0).contains(&level.0)
}

/// Whether a ratio is plausible for a radio: the largest antennas have 80 dB.
fn is_gain(gain: &Db) -> bool {
    (-100.0..=100.0).contains(&gain.0)
}

table! {
    /// The radio of a node. The two directions of a link differ if the radios at its ends differ.
    pub struct Radio {
        /// Transmit power at the antenna.
        pub tx_power: Dbm = Dbm(20.0), "from -200 dBm to 100 dBm" => |level| is_level(*level);
        /// Antenna gain, for transmission and reception.
        pub antenna_gain: Db = Db(0.0), "from -100 dB to 100 dB" => is_gain;
        /// Noise at the receiver: thermal noise of -101 dBm in 20 MHz plus a noise figure of 6 dB.
        pub noise: Dbm = Dbm(-95.0), "at most 100 dBm" => |level| level.0 <= 100.0;
        /// Minimum power at which a frame can be read. IEEE Std 802.11-2016 requires at least -76 dBm at 11 Mb/s
        /// (16.3.8.2) and -82 dBm at 6 Mb/s (17.3.10.2).
        pub sensitivity: Dbm = Dbm(-82.0), "from -200 dBm to 100 dBm" => |level| is_level(*level);
        /// Minimum power at which the channel is sensed busy. A frame that can be read is always sensed.
        pub carrier_sense: Dbm = Dbm(-82.0), "from -200 dBm to 100 dBm" => |level| is_level(*level);
    }
}

impl Radio {
    /// ns-2's card: sends 0.28183815 W, receives from 3.652e-10 W, senses from 1.559e-11 W, and has no noise. With the
    /// two-ray model at 914 MHz and 1.5 m it receives up to 250 m and senses up to 550 m.
    pub fn ns2() -> Self {
        Self {
            tx_power: Dbm::from_milliwatts(281.838_15),
            antenna_gain: Db(0.0),
            noise: Dbm(f64::NEG_INFINITY),
            sensitivity: Dbm::from_milliwatts(3.652e-7),
            carrier_sense: Dbm::from_milliwatts(1.559e-8),
        }
    }
}

choice! {
    /// Which of several overlapping frames a receiver can receive.
    pub enum CaptureEffect {
        /// None.
        None = "none",
        /// The first frame that the receiver senses, readable or not, if that frame is stronger than each later one by
        /// the threshold.
        First = "first" from "ns-2 2.35, mac/mac-802_11.cc",
        /// The first frame whose header the receiver can read.
        Header = "header" from "ns-3, YansWifiPhy without frame capture",
        /// As `header`; in addition, a later frame takes over if it is stronger than all others by the threshold.
        Late = "late" from "J. Lee et al., WiNTECH 2007: measured with Atheros chips",
    }
}

choice! {
    /// What interferes with a frame that is being received.
    pub enum Interference {
        /// Noise and all other frames together.
        Sum = "sum",
        /// Each other frame separately, and no noise, as in ns-2.
        Strongest = "strongest" from "ns-2 2.35, mac/mac-802_11.cc",
    }
}

choice! {
    /// What makes the channel busy.
    pub enum CarrierSense {
        /// A single frame above the carrier-sense level.
        Frame = "frame" from "ns-2 2.35",
        /// The total power of all frames, or a frame that is being received.
        Total = "total" from "IEEE Std 802.11-2016, 17.3.10.6: energy detection",
    }
}

choice! {
    /// What makes the reception of a frame fail.
    pub enum Spoils {
        /// It falls below the capture threshold.
        Threshold = "threshold",
        /// Bit errors, which depend on the signal to noise and interference ratio, and on the frame's rate and length.
        Bits = "bits" from "G. Pei and T. Henderson, Boeing, 2009 and 2010",
    }
}

table! {
    /// Reception of overlapping frames.
    pub struct Reception {
        /// What makes the reception of a frame fail.
        pub spoils: Spoils = Spoils::Threshold;
        /// Which of several overlapping frames a receiver can receive.
        pub capture: CaptureEffect = CaptureEffect::Header;
        /// How much stronger than its interference a frame must be: during its whole length if `spoils` is "threshold",
        /// only at its start if it is "bits".
        pub capture_threshold: Db = Db(match spoils {
            Spoils::Threshold => 10.0,
            Spoils::Bits => 4.0,
        }), by spoils, "from -100 dB to 100 dB" => is_gain;
        /// What interferes with a frame that is being received.
        pub interference: Interference = Interference::Sum;
        /// What makes the channel busy.
        pub carrier_sense: CarrierSense = CarrierSense::Frame;
    }
}

impl Reception {
    /// ns-2's rule: the first frame is captured if each other one is 10 dB weaker.
    pub fn ns2() -> Self {
        Self {
            spoils: Spoils::Threshold,
            capture: CaptureEffect::First,
            capture_threshold: Db(10.0),
            interference: Interference::Strongest,
            carrier_sense: CarrierSense::Frame,
        }
    }
}
